{{/* The name of everything here: that of the release. */}}
{{- define "noetl.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "noetl.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "noetl.labels" -}}
app.kubernetes.io/name: noetl
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{/* What tells the pods of a role apart; it must never change between releases. */}}
{{- define "noetl.selector" -}}
app.kubernetes.io/name: noetl
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role | quote }}
{{- if .pool }}
noetl.io/pool: {{ .pool | quote }}
{{- end }}
{{- end -}}

{{- define "noetl.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "noetl.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Token files of a home must be readable by their user alone, and a mounted Secret is readable by its group: so they
are copied into the home, which ends with the pod. */}}
{{- define "noetl.tokenCopy" -}}
- name: tokens
  image: {{ include "noetl.image" .root | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  command: [install, -m, "0600", -t, /var/lib/noetl{{ range .files }}, /run/noetl-secret/{{ . }}{{ end }}]
  securityContext:
    {{- include "noetl.containerSecurity" .root | nindent 4 }}
  volumeMounts:
    - {name: home, mountPath: /var/lib/noetl}
    - {name: tokens, mountPath: /run/noetl-secret, readOnly: true}
{{- end -}}

{{- define "noetl.volumes" -}}
- name: home
  emptyDir: {}
- name: tmp
  emptyDir: {}
- name: tokens
  secret:
    secretName: {{ .root.Values.secretName | quote }}
    defaultMode: 0440
    items:
      {{- range .files }}
      - {key: {{ . }}, path: {{ . }}}
      {{- end }}
{{- if .root.Values.caConfigMap }}
- name: ca
  configMap:
    name: {{ .root.Values.caConfigMap | quote }}
{{- end }}
{{- end -}}

{{- define "noetl.mounts" -}}
- {name: home, mountPath: /var/lib/noetl}
- {name: tmp, mountPath: /tmp}
{{- if .Values.caConfigMap }}
- {name: ca, mountPath: /etc/noetl/ca, readOnly: true}
{{- end }}
{{- end -}}

{{/* A variable from the Secret. */}}
{{- define "noetl.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: {name: {{ .root.Values.secretName | quote }}, key: {{ .key }}, optional: {{ .optional | default false }}}
{{- end -}}

{{- define "noetl.settings" -}}
{{- range $name, $value := . }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end -}}
{{- end -}}
