"""HTTP over control and projections: declarations in `operations`, all of them in `table`, served by `app`.

operations  what one operation is: route, role, shapes of what comes in and goes out
table       every operation there is; routes, OpenAPI document and the table of roles are made from it
routing     which operation a request is for        reading   its path, query and body, checked
admission   may it come in: host, token, role, rate  problems  how it is refused
parts       what handlers are given                  openapi   the declarations as a document

Everything else holds handlers, one file per subject, each with a literal tuple of its operations.
"""
