"""What starts playbooks by itself. It asks the desk, as people do; nothing of the server at work knows of it.

documents, texts   what schedules and triggers have in common; once: the same start again is the same execution
schedules          what people ask of them; schedule_state: how one moves; firing, firing_plan, firing_times: when, once
triggers           what people ask of them; hooks, subscriptions: what comes in from outside, as messages;
                   trigger_starts starts in their name, within rates
"""
