"""Work on its way, and its leases: one contract, function calls or messages.

contract  what a queue, a transport and a server for workers are
memory    the queue of one process
direct, nats        a worker's way to servers: in this process, over NATS; enrolment and homes are the same for both
nats_service        a server's ear on NATS; nats_answers decodes and does, kept_parts and helpings bound what goes out
wire      what is said between them; nats_asking, nats_link: one question, one connection
doorbell  a hint between servers
nats_export, nats_subjects, subjects   events out to a stream; messages in that start playbooks
"""
