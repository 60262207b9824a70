"""The worker at work: jobs come in, one pipeline after another is run, what came of it is reported.

worker    which jobs it holds; heartbeat, lease, slots, waiting
execute   one job from its claim to its last report; reporter sends; children, workbook: tasks that call others
invoke    one call of a tool; toolbox, wallet, shelf: the tools, credentials and result stores that it may use
recording what the log can hold of an output; excerpts, shortening, result_schema
acquaintance, derived   secrets that have to be known before anything is written

It never touches the log and never starts a step.
"""
