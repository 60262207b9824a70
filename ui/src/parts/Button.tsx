import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";
import type { Permission } from "@/api/identity";
import { Icon, type IconName } from "./icons";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon?: IconName;
  look?: "main" | "plain" | "danger" | "quiet";
  size?: "s" | "m";
  /** What the role may: without it the button stays, greyed out, and says why. */
  may?: Permission;
  busy?: boolean;
  children?: ReactNode;
}

export function Button({ icon, look = "plain", size = "m", may, busy, children, className, ...rest }: ButtonProps) {
  const isRefused = may !== undefined && !may.is;
  const isOff = rest.disabled || busy || isRefused;
  return (
    <button
      type="button"
      {...rest}
      // aria-disabled and not disabled: it stays reachable, so that its reason can be read
      disabled={undefined}
      aria-disabled={isOff || undefined}
      aria-busy={busy || undefined}
      title={isRefused ? may.reason : rest.title}
      onClick={isOff ? (event) => event.preventDefault() : rest.onClick}
      className={`button button-${look} button-${size} ${children ? "" : "button-icon"} ${className ?? ""}`}
    >
      {busy ? <Icon name="spin" className="icon-spin" /> : icon ? <Icon name={icon} /> : null}
      {children ? <span>{children}</span> : null}
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink(props: {
  href: string;
  icon?: IconName;
  look?: "main" | "plain" | "quiet";
  children: ReactNode;
}) {
  return (
    <Link href={props.href} className={`button button-${props.look ?? "plain"} button-m`}>
      {props.icon ? <Icon name={props.icon} /> : null}
      <span>{props.children}</span>
    </Link>
  );
}
