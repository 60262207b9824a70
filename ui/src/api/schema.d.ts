// Written by `npm run types` from the operations of src/noetl/api. Not to be edited.
export interface paths {
    "/api/v1/identity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say who asks, with which role, and what the server is
         * @description Needs the role viewer.
         */
        get: operations["show_identity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how things stand: what is under way, what ended in the last 24 hours, what is due next
         * @description Needs the role viewer.
         */
        get: operations["show_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Hear what changes, subject by subject
         * @description Needs the role viewer.
         */
        get: operations["stream_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List playbooks by path, newest version first
         * @description Needs the role viewer.
         */
        get: operations["list_playbooks"];
        put?: never;
        /**
         * Register a playbook; the same text again keeps the version it has
         * @description Needs the role author.
         */
        post: operations["register_playbook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions of one playbook, newest first
         * @description Needs the role viewer.
         */
        get: operations["list_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/playbook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show one version of a playbook, with its text
         * @description Needs the role viewer.
         */
        get: operations["show_playbook"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare two versions of a playbook
         * @description Needs the role viewer.
         */
        get: operations["compare_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a playbook; nothing is kept and nothing runs
         * @description Needs the role author.
         */
        post: operations["check_playbook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/recent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List playbooks by path, each in its newest version and with its last runs
         * @description Needs the role viewer.
         */
        get: operations["list_recent_playbooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the graph of a playbook
         * @description Needs the role viewer.
         */
        get: operations["graph_playbook"];
        put?: never;
        /**
         * Draw the graph of a text; nothing is kept and nothing runs
         * @description Needs the role author.
         */
        post: operations["graph_text"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List what may stand at a cursor
         * @description Needs the role author.
         */
        post: operations["complete_text"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/describe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say what stands under a cursor
         * @description Needs the role author.
         */
        post: operations["describe_text"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the JSON Schema of playbooks
         * @description Needs the role viewer.
         */
        get: operations["show_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/kinds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tool kinds, with their pages
         * @description Needs the role viewer.
         */
        get: operations["list_kinds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rules/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the page of a rule, by its code or its name
         * @description Needs the role viewer.
         */
        get: operations["explain_rule"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/workload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the inputs of a playbook, with their defaults
         * @description Needs the role viewer.
         */
        get: operations["show_workload"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/fix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Repair what is mechanical in a text, as `noetl check --fix` does; nothing is kept
         * @description Needs the role author.
         */
        post: operations["repair_playbook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List executions, newest first
         * @description Needs the role viewer.
         */
        get: operations["list_executions"];
        put?: never;
        /**
         * Start an execution of a registered playbook, or of a text
         * @description Needs the role runner. "text" needs the role author. "beside" needs the role author.
         */
        post: operations["start_execution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run an execution again from a step or an event, as a new one
         * @description Needs the role runner. "text" needs the role author.
         */
        post: operations["rerun_execution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel, rerun or resume several executions, each by itself
         * @description Needs the role runner.
         */
        post: operations["act_on_executions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an execution: its step runs, children and what it waits for
         * @description Needs the role viewer.
         */
        get: operations["show_execution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sum an execution up, as `noetl run --format json` does
         * @description Needs the role viewer.
         */
        get: operations["summarize_execution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the state after any event
         * @description Needs the role viewer.
         */
        get: operations["show_state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit the log of an execution
         * @description Needs the role viewer.
         */
        get: operations["verify_execution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an execution
         * @description Needs the role runner.
         */
        post: operations["cancel_execution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/signal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write to the ctx of an execution that waits
         * @description Needs the role runner.
         */
        post: operations["signal_execution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take an execution up where its log ends
         * @description Needs the role runner.
         */
        post: operations["resume_execution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the graph of an execution, with the steps that planners added
         * @description Needs the role viewer.
         */
        get: operations["graph_execution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/moment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an execution as it stood after any event: marking, ctx and its changes, inputs, rules and arcs
         * @description Needs the role viewer.
         */
        get: operations["show_moment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/landmarks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of an execution that are worth a mark on a slider
         * @description Needs the role viewer.
         */
        get: operations["list_landmarks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say why a step ran, or did not
         * @description Needs the role viewer.
         */
        get: operations["explain_step"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare two executions: where they part first, and every step that differs
         * @description Needs the role viewer.
         */
        get: operations["diff_executions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/evaluate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Evaluate an expression against an execution at any event; nothing is written
         * @description Needs the role viewer.
         */
        post: operations["evaluate_expression"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow all executions: the newest rows, then each whose status changes
         * @description Needs the role viewer.
         */
        get: operations["stream_executions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of an execution
         * @description Needs the role viewer.
         */
        get: operations["list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the events of an execution until it ends
         * @description Needs the role viewer.
         */
        get: operations["stream_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the step runs of an execution over time, with the critical path
         * @description Needs the role viewer.
         */
        get: operations["show_timeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/iterations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the iterations of a loop, by index
         * @description Needs the role viewer.
         */
        get: operations["list_iterations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the attempts of tasks, of one run or iteration or of all
         * @description Needs the role viewer.
         */
        get: operations["list_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what tasks printed and what happened, as lines
         * @description Needs the role viewer.
         */
        get: operations["list_lines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/logs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the lines of an execution until it ends
         * @description Needs the role viewer.
         */
        get: operations["stream_lines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export an execution: its row, its playbooks, its whole log and its payloads, as one file
         * @description Needs the role viewer.
         */
        get: operations["export_execution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/viewings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bring an exported execution, to look at it for an hour
         * @description Needs the role viewer.
         */
        post: operations["bring_viewing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a large result that an event of the execution refers to
         * @description Needs the role viewer.
         */
        get: operations["read_result"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keychain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List credentials, stored and declared: names, kinds and who uses them, no values
         * @description Needs the role author.
         */
        get: operations["list_credentials"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keychain/{credential}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Store a credential, encrypted, in place of the one with its name
         * @description Needs the role admin.
         */
        put: operations["keep_credential"];
        post?: never;
        /**
         * Remove a stored credential
         * @description Needs the role admin.
         */
        delete: operations["remove_credential"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keychain/{credential}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a stored credential: read it, and sign in to the service it is for
         * @description Needs the role admin.
         */
        post: operations["try_credential"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules by name
         * @description Needs the role viewer.
         */
        get: operations["list_schedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a schedule: how it stands, when it is due next, what became of the last times
         * @description Needs the role viewer.
         */
        get: operations["show_schedule"];
        /**
         * Apply a Schedule document in place of the one of its name; the same again changes nothing
         * @description Needs the role author.
         */
        put: operations["apply_schedule"];
        post?: never;
        /**
         * Remove a schedule; what it started goes on
         * @description Needs the role author.
         */
        delete: operations["remove_schedule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a schedule rest: what comes due meanwhile is not made up for
         * @description Needs the role runner.
         */
        post: operations["pause_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a paused schedule go on with its next due time
         * @description Needs the role runner.
         */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start its playbook with its payload now, whatever it waits for
         * @description Needs the role runner.
         */
        post: operations["run_schedule_now"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List triggers by name
         * @description Needs the role viewer.
         */
        get: operations["list_triggers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a trigger, and what came of its messages
         * @description Needs the role viewer.
         */
        get: operations["show_trigger"];
        /**
         * Apply a Trigger document in place of the one of its name; the same again changes nothing
         * @description Needs the role author.
         */
        put: operations["apply_trigger"];
        post?: never;
        /**
         * Remove a trigger; what it started goes on
         * @description Needs the role author.
         */
        delete: operations["remove_trigger"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hooks/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set a trigger off
         * @description The request shows by a token or a signature that it may, as the trigger's document says. Authenticated by the trigger's own secret.
         */
        post: operations["receive_hook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the workers that were seen
         * @description Needs the role viewer.
         */
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pools: what is ready, leased and parked, the oldest wait, and why jobs wait
         * @description Needs the role viewer.
         */
        get: operations["list_pools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs: what waits, who holds what, and for how long yet
         * @description Needs the role viewer.
         */
        get: operations["list_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All tokens, the newest first, without their texts
         * @description Needs the role admin.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Make a token; its text is in this answer and nowhere else
         * @description Needs the role admin.
         */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token; the sessions of workers that began with it end too
         * @description Needs the role admin.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show whether store, queue and the other parts work, and the version
         * @description Needs the role viewer.
         */
        get: operations["show_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This API as an OpenAPI 3.1 document
         * @description Needs the role viewer.
         */
        get: operations["show_openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Problem
         * @description What is wrong, for programs (`code`) and for people (`detail`).
         */
        Problem: {
            type: string;
            title: string;
            status: number;
            code: string;
            detail: string;
            trace_id: string;
            /** @default [] */
            findings?: Record<string, unknown>[];
        };
        /**
         * IdentityShown
         * @description Whoever asks, and what they ask.
         */
        IdentityShown: {
            /** @description one process with its own store and worker */
            is_embedded: boolean;
            /** @description the label of the token */
            name: string;
            /** @description by the server's clock */
            now: string;
            /** @description playbooks at this path and below are all there is; empty: all */
            path_prefix: string;
            /** @enum {unknown} */
            role: "admin" | "author" | "runner" | "viewer";
            /** @enum {unknown} */
            store: "postgresql" | "sqlite";
            version: string;
        };
        /**
         * Overview
         * @description How things stand: what is under way now, and what ended within the last 24 hours.
         */
        Overview: {
            cancelled_day: number;
            failed_day: number;
            /** @description 24 of them, oldest first; the last one is not over */
            hours: components["schemas"]["HourRow"][];
            incident: number;
            running: number;
            /** @description at most 10, soonest first */
            schedules: components["schemas"]["ComingSchedule"][];
            success_day: number;
            waiting: number;
        };
        /**
         * HourRow
         * @description Executions that ended within one hour.
         */
        HourRow: {
            /** @description when the hour began */
            at: string;
            cancelled: number;
            failed: number;
            success: number;
        };
        /**
         * ComingSchedule
         * @description A schedule that is due soon.
         */
        ComingSchedule: {
            name: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            next_at: string;
            path: string;
            /** @enum {unknown} */
            state: "active" | "waiting";
        };
        /**
         * Given
         * @description A playbook as text, and how it is to be read.
         */
        "noetl.api.catalog.Given": {
            /** @description YAML */
            text: string;
            /**
             * @description what its file is called, for messages
             * @default playbook.yaml
             */
            name?: string;
            /** @default false */
            is_legacy?: boolean;
            /** @default false */
            is_upstream?: boolean;
        };
        /**
         * CatalogRow
         * @description One version of a playbook.
         */
        CatalogRow: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            is_legacy: boolean;
            is_upstream: boolean;
            label: string;
            name: string;
            path: string;
            sha: string;
            version: number;
        };
        /** ListQuery */
        "noetl.api.catalog.ListQuery": {
            /** @default null */
            path?: string | null;
            /**
             * @description at most so many
             * @default 100
             */
            limit?: number;
            /** @default null */
            cursor?: string | null;
        };
        /** CatalogPage */
        CatalogPage: {
            /** @description the cursor of the next page; null: this is the last */
            next: string | null;
            playbooks: components["schemas"]["CatalogRow"][];
        };
        /** VersionsQuery */
        VersionsQuery: {
            /** @description a playbook's path */
            path: string;
        };
        /** OneQuery */
        OneQuery: {
            /** @description a playbook's path */
            path: string;
            /** @default null */
            version?: number | null;
        };
        /**
         * CatalogText
         * @description One version of a playbook, with its text.
         */
        CatalogText: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            is_legacy: boolean;
            is_upstream: boolean;
            label: string;
            name: string;
            path: string;
            sha: string;
            text: string;
            version: number;
        };
        /** DiffQuery */
        "noetl.api.catalog.DiffQuery": {
            /** @description a playbook's path */
            path: string;
            /** @description 1, 2, 3 …; without it, the newest */
            old: number;
            /** @default null */
            new?: number | null;
        };
        /**
         * Difference
         * @description Two versions of a playbook.
         */
        Difference: {
            /** @description as `diff -u` prints it; empty: the texts are the same */
            diff: string;
            new: number;
            old: number;
            path: string;
        };
        /** GivenToCheck */
        GivenToCheck: {
            /** @description YAML */
            text: string;
            /**
             * @description what its file is called, for messages
             * @default playbook.yaml
             */
            name?: string;
            /** @default false */
            is_legacy?: boolean;
            /** @default false */
            is_upstream?: boolean;
            /** @default false */
            is_strict?: boolean;
        };
        /**
         * CheckReport
         * @description What is wrong with a playbook.
         */
        CheckReport: {
            findings: components["schemas"]["FindingRow"][];
            /** @description there are more findings than these */
            is_cut: boolean;
            is_valid: boolean;
        };
        /**
         * FindingRow
         * @description One fault of a playbook, as `noetl check --format json` prints it.
         */
        FindingRow: {
            code: string;
            column: number;
            end_column: number;
            end_line: number;
            fix: string;
            fixable: boolean;
            line: number;
            message: string;
            path: string;
            rule: string;
            /** @enum {unknown} */
            severity: "error" | "info" | "warning";
            why: string;
        };
        /** RecentQuery */
        RecentQuery: {
            /**
             * @description at most so many playbooks
             * @default 50
             */
            limit?: number;
            /** @default null */
            cursor?: string | null;
            /**
             * @description at most so many runs of each
             * @default 20
             */
            runs?: number;
            /** @default null */
            q?: string | null;
        };
        /** RecentPage */
        RecentPage: {
            /** @description the cursor of the next page; null: this is the last */
            next: string | null;
            playbooks: components["schemas"]["RecentRow"][];
        };
        /**
         * RecentRow
         * @description A playbook in its newest version, with its last runs.
         */
        RecentRow: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            is_legacy: boolean;
            is_upstream: boolean;
            label: string;
            name: string;
            path: string;
            /** @description of all versions, newest first */
            runs: components["schemas"]["ExecutionRow"][];
            sha: string;
            version: number;
            /** @description how many there are */
            versions: number;
        };
        /**
         * ExecutionRow
         * @description One line of the list of executions.
         */
        ExecutionRow: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            duration_ms: number | null;
            /** @description a number, as text */
            execution_id: string;
            parent_execution_id: string | null;
            path: string;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
            version: number;
        };
        /**
         * GraphAnswer
         * @description A graph, as far as the text gives one.
         */
        GraphAnswer: {
            findings_count: number;
            /** @description null: the text cannot be read as a playbook */
            graph: components["schemas"]["GraphDocument"] | null;
        };
        /**
         * GraphDocument
         * @description A playbook's net, as `noetl graph --format json` prints it.
         */
        GraphDocument: {
            arcs: components["schemas"]["GraphArcRow"][];
            entry: string;
            name: string;
            steps: components["schemas"]["GraphStepRow"][];
        };
        /**
         * GraphArcRow
         * @description One arc of a graph, in the order of the file.
         */
        GraphArcRow: {
            can_fire: boolean;
            is_failure: boolean;
            is_fallback: boolean;
            line: number;
            /** @description from 1, among the arcs of its step */
            order: number;
            source: string;
            target: string;
            when: string | null;
            writes: string[];
        };
        /**
         * GraphStepRow
         * @description One step of a graph.
         */
        GraphStepRow: {
            description: string;
            end_line: number;
            has_admission: boolean;
            has_compensation: boolean;
            is_end: boolean;
            is_entry: boolean;
            is_inclusive: boolean;
            is_join: boolean;
            /** @description a planner added it to this execution */
            is_planned: boolean;
            is_planner: boolean;
            is_reached: boolean;
            line: number;
            loops: components["schemas"]["GraphLoopRow"][];
            name: string;
            tasks: components["schemas"]["GraphTaskRow"][];
        };
        /**
         * GraphLoopRow
         * @description One loop of a step, outermost first.
         */
        GraphLoopRow: {
            is_parallel: boolean;
            iterator: string;
            max_in_flight: number | null;
        };
        /**
         * GraphTaskRow
         * @description One task of a step; lines count from 1, 0: it stands in no file (a planner made it).
         */
        GraphTaskRow: {
            end_line: number;
            kind: string;
            label: string;
            line: number;
        };
        /**
         * Cursor
         * @description A text that is being written, and a place in it.
         */
        Cursor: {
            /** @description YAML, as far as it is written */
            text: string;
            /** @description from 1 */
            line: number;
            /** @description from 1: the cursor stands before this character */
            column: number;
        };
        /**
         * Completions
         * @description What may stand at a cursor; it replaces the text from `start_column` to the cursor.
         */
        Completions: {
            items: components["schemas"]["CompletionItem"][];
            start_column: number;
        };
        /** CompletionItem */
        CompletionItem: {
            detail: string;
            doc: string;
            insert: string;
            /** @enum {unknown} */
            kind: "filter" | "key" | "name" | "step" | "task" | "value";
            label: string;
        };
        /**
         * Description
         * @description What stands under a cursor.
         */
        Description: {
            markdown: string;
            step: string | null;
            task: string | null;
            title: string;
        };
        /** KindsDocument */
        KindsDocument: {
            kinds: components["schemas"]["KindRow"][];
        };
        /**
         * KindRow
         * @description A tool kind, and its page.
         */
        KindRow: {
            fields: components["schemas"]["KindFieldRow"][];
            kind: string;
            /** @description what stands under the task's spec */
            knobs: components["schemas"]["KindFieldRow"][];
            markdown: string;
            summary: string;
        };
        /**
         * KindFieldRow
         * @description A field of a tool kind.
         */
        KindFieldRow: {
            default: unknown;
            doc: string;
            is_required: boolean;
            name: string;
            type: string;
        };
        /**
         * RulePage
         * @description The page of a rule, as `noetl explain` prints it.
         */
        RulePage: {
            code: string;
            markdown: string;
            rule: string;
            severity: string;
        };
        /**
         * Workload
         * @description The inputs of a playbook, with their defaults.
         */
        Workload: {
            description: string;
            path: string;
            version: number;
            /** @description what a payload is laid over */
            workload: Record<string, unknown>;
        };
        /**
         * Repaired
         * @description A text after its mechanical repairs.
         */
        Repaired: {
            /** @description how many repairs there were; 0: the text is as it was */
            repaired: number;
            text: string;
        };
        /**
         * Start
         * @description A registered playbook by its path, or a text (which needs the role author).
         */
        Start: {
            /** @default null */
            path?: string | null;
            /** @default null */
            version?: number | null;
            /** @default null */
            text?: string | null;
            /**
             * @description what its file is called, for messages
             * @default playbook.yaml
             */
            name?: string;
            /**
             * @description texts that it calls by these names
             * @default {}
             */
            beside?: {
                [key: string]: string;
            };
            /**
             * @description overlays the playbook's workload
             * @default {}
             */
            payload?: Record<string, unknown>;
            /** @default false */
            is_legacy?: boolean;
            /** @default false */
            is_upstream?: boolean;
        };
        /**
         * StartedRow
         * @description An execution that was asked for.
         */
        StartedRow: {
            /** @description a number, as text */
            execution_id: string;
            /** @description false: it was started before, under the same Idempotency-Key */
            is_new: boolean;
            path: string;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
            version: number;
        };
        /**
         * Rerun
         * @description From a step or an event, with other values or another playbook; the execution there was stays as it is.
         */
        Rerun: {
            /** @default null */
            from_step?: string | null;
            /**
             * @description from the step whose failure ended it
             * @default false
             */
            from_failed?: boolean;
            /** @default null */
            at?: number | null;
            /**
             * @description run a failed loop anew, not only what is left of it
             * @default false
             */
            whole?: boolean;
            /**
             * @description ctx.name: value
             * @default {}
             */
            set?: Record<string, unknown>;
            /** @default null */
            text?: string | null;
            /**
             * @description what its file is called, for messages
             * @default playbook.yaml
             */
            name?: string;
            /** @default false */
            is_legacy?: boolean;
            /** @default false */
            is_upstream?: boolean;
        };
        /** ListQuery */
        "noetl.api.listing.ListQuery": {
            /** @default null */
            status?: string | null;
            /** @default null */
            path?: string | null;
            /** @default null */
            q?: string | null;
            /** @default null */
            id?: string | null;
            /**
             * @description created then or later
             * @default null
             */
            since?: string | null;
            /**
             * @description created then or before
             * @default null
             */
            until?: string | null;
            /** @default null */
            parent?: string | null;
            /** @default null */
            is_root?: boolean | null;
            /**
             * @description at most so many
             * @default 100
             */
            limit?: number;
            /** @default null */
            cursor?: string | null;
        };
        /**
         * ExecutionPage
         * @description A page of the list, newest first.
         */
        ExecutionPage: {
            executions: components["schemas"]["ExecutionRow"][];
            /** @description the cursor of the next page; null: this is the last */
            next: string | null;
        };
        /**
         * Bulk
         * @description What to do, to which.
         */
        Bulk: {
            /** @enum {unknown} */
            action: "cancel" | "rerun" | "resume";
            execution_ids: string[];
            /**
             * @description of a cancel
             * @default
             */
            reason?: string;
            /**
             * @description rerun from the step that failed, not from the beginning
             * @default false
             */
            from_failed?: boolean;
        };
        /** BulkReport */
        BulkReport: {
            /** @description in the order in which they were asked for */
            results: components["schemas"]["BulkRow"][];
        };
        /**
         * BulkRow
         * @description What became of one of several executions.
         */
        BulkRow: {
            /** @description why not */
            error: string | null;
            /** @description a number, as text */
            execution_id: string;
            is_ok: boolean;
            /** @description of a rerun */
            new_execution_id: string | null;
        };
        /**
         * Shown
         * @description What `noetl show` prints of an execution: its step runs, its children, what it waits for.
         */
        Shown: {
            children: Record<string, unknown>[];
            created_at: string | null;
            ctx: Record<string, unknown>;
            duration_ms: number | null;
            ended_at: string | null;
            error: Record<string, unknown> | null;
            events: number;
            /** @description a number, as text */
            execution_id: string;
            /** @description of a rerun: what it does again */
            forked_from: components["schemas"]["ForkedFrom"] | null;
            omitted_runs: number;
            output: Record<string, unknown> | null;
            parent_execution_id: string | null;
            path: string;
            runs: Record<string, unknown>[];
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
            /** @description jobs that wait where no worker is */
            unserved: components["schemas"]["UnservedRow"][];
            version: number;
            waiting: Record<string, unknown>[];
        };
        /**
         * ForkedFrom
         * @description The execution that this one does again.
         */
        ForkedFrom: {
            /** @description a number, as text */
            execution_id: string;
            /** @description how many of its events this one begins with; 0: it began anew */
            seq: number;
        };
        /**
         * UnservedRow
         * @description Jobs of a pool that nobody polls.
         */
        UnservedRow: {
            jobs: number;
            pool: string;
            reason: string;
        };
        /**
         * Summary
         * @description What `noetl run` prints of an execution.
         */
        Summary: {
            ctx: Record<string, unknown>;
            duration_ms: number | null;
            error: Record<string, unknown> | null;
            /** @description a number, as text */
            execution_id: string;
            output: Record<string, unknown> | null;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
            steps: components["schemas"]["StepRow"][];
        };
        /** StepRow */
        StepRow: {
            runs: number;
            status: string;
            step: string;
        };
        /** StateQuery */
        StateQuery: {
            /** @default null */
            at?: number | null;
        };
        /**
         * StateDocument
         * @description The state of an execution after one of its events; it has more fields, which the engine may add to.
         */
        StateDocument: {
            /** @description a number, as text */
            execution_id: string;
            seq: number;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
        };
        /**
         * Verified
         * @description Whether a log gives the state that was recorded, and keeps the invariants.
         */
        Verified: {
            checks: components["schemas"]["VerifyCheck"][];
            events: number;
            /** @description a number, as text */
            execution_id: string;
            is_equal: boolean;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
        };
        /** VerifyCheck */
        VerifyCheck: {
            detail: string;
            name: string;
            ok: boolean;
        };
        /** Cancel */
        Cancel: {
            /** @default  */
            reason?: string;
        };
        /** StatusRow */
        StatusRow: {
            /** @description a number, as text */
            execution_id: string;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
        };
        /** Signal */
        Signal: {
            /** @description ctx.name: value */
            set: Record<string, unknown>;
        };
        /**
         * Nothing
         * @description An empty document.
         */
        Nothing: Record<string, unknown>;
        /** MomentQuery */
        MomentQuery: {
            /**
             * @description the event; without it, the last
             * @default null
             */
            at?: number | null;
        };
        /**
         * MomentDocument
         * @description An execution as it stood after one of its events.
         */
        MomentDocument: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            at: string;
            changes: components["schemas"]["ChangeRow"][];
            ctx: Record<string, unknown>;
            event: components["schemas"]["EventDocument"];
            /** @description by task, or by step for the start of a whole run: rendered again; null: there is none */
            inputs: Record<string, unknown> | null;
            inputs_note: string;
            last_seq: number;
            marking: components["schemas"]["Marking"];
            seq: number;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
            steps: components["schemas"]["StepRow"][];
            verdicts: components["schemas"]["VerdictRow"][];
            workload: Record<string, unknown>;
        };
        /**
         * ChangeRow
         * @description A value of ctx that an event changed.
         */
        ChangeRow: {
            after: unknown;
            before: unknown;
            is_new: boolean;
            path: string;
        };
        /**
         * EventDocument
         * @description One event of a log, as EV-01 and EV-02 have it.
         */
        EventDocument: {
            attempt?: number;
            entity_id: string;
            entity_type: string;
            event_id: string;
            /** @description a number, as text */
            execution_id: string;
            iteration_id?: string;
            name: string;
            payload: Record<string, unknown>;
            source: string;
            status: string | null;
            step?: string;
            step_run_id?: string;
            task_label?: string;
            task_run_id?: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            timestamp: string;
        };
        /**
         * Marking
         * @description Where the net stands.
         */
        Marking: {
            omitted_runs: number;
            omitted_tokens: number;
            runs: components["schemas"]["MomentRun"][];
            tokens: components["schemas"]["noetl.api.explaining_documents.TokenRow"][];
        };
        /**
         * MomentRun
         * @description A step run, or an instance of an inner loop, that is under way.
         */
        MomentRun: {
            compensates: number | null;
            /** @description at most 100 of them */
            jobs: components["schemas"]["JobRow"][];
            loop: components["schemas"]["LoopRow"] | null;
            omitted_jobs: number;
            /** @description of an inner loop: the run that it stands in */
            parent_run: number | null;
            phase: string;
            run: number;
            step: string;
        };
        /**
         * JobRow
         * @description A pipeline in flight.
         */
        JobRow: {
            attempt: number;
            iteration: number | null;
            /** @description the task it is at; null: before the first, or after the last */
            task: string | null;
            waits_until: string | null;
        };
        /** LoopRow */
        LoopRow: {
            count: number;
            done: number;
            failed: number;
            in_flight: number;
            next: number;
        };
        /**
         * TokenRow
         * @description A token that waits at a step.
         */
        "noetl.api.explaining_documents.TokenRow": {
            is_for_signal: boolean;
            /** @description it was denied, and is asked again when ctx changes */
            is_waiting: boolean;
            /** @description the step that sent it; empty: the beginning */
            source: string;
            step: string;
            token: number;
        };
        /**
         * VerdictRow
         * @description One rule, arc, collection or write, with what it saw. `is_chosen` is what was recorded; the rest is evaluated
         *         again on the state of that moment.
         */
        VerdictRow: {
            error: string | null;
            /** @description from 0, among those of its place */
            index: number;
            is_chosen: boolean;
            line: number;
            note: string;
            /** @enum {unknown} */
            place: "admission" | "arc" | "loop" | "policy" | "set";
            reads: components["schemas"]["ReadRow"][];
            /** @description null: it was not asked, is no condition, or could not be asked */
            result: boolean | null;
            step: string;
            /** @description of an arc: the step; of an admission rule: allow or deny; of a policy rule: what it says, as `retry` or `jump save`; of a write: the path; of a loop: its iterator */
            target: string | null;
            task: string | null;
            was_asked: boolean;
            /** @description the condition or expression as written; null: there is none */
            when: string | null;
        };
        /**
         * ReadRow
         * @description A name that a template read, and the value it saw; cut where it is long, `***` where it is secret.
         */
        ReadRow: {
            name: string;
            /** @description undefined, cut, secret, kept outside the log; usually empty */
            note: string;
            value: unknown;
        };
        /**
         * Landmarks
         * @description Events worth a mark on a slider, thinned evenly where there are many.
         */
        Landmarks: {
            last_seq: number;
            marks: components["schemas"]["Mark"][];
        };
        /** Mark */
        Mark: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            at: string;
            /** @enum {unknown} */
            kind: "execution" | "failure" | "loop" | "signal" | "step" | "wait";
            name: string;
            seq: number;
            step: string | null;
        };
        /** WhyQuery */
        WhyQuery: {
            /** @description a step's name */
            step: string;
        };
        /**
         * WhyDocument
         * @description Why a step ran, or did not.
         */
        WhyDocument: {
            /** @description a number, as text */
            execution_id: string;
            omitted_visits: number;
            sentences: string[];
            status: string;
            step: string;
            visits: components["schemas"]["Visit"][];
        };
        /**
         * Visit
         * @description A time that a token was, or could have been, sent to a step.
         */
        Visit: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            at: string;
            /** @enum {unknown} */
            happened: "failed" | "not_reached" | "ran" | "refused" | "skipped" | "waited";
            run: number | null;
            seq: number;
            verdicts: components["schemas"]["VerdictRow"][];
        };
        /** DiffQuery */
        "noetl.api.explaining.DiffQuery": {
            /** @description the execution to compare with */
            other: string;
        };
        /**
         * DiffDocument
         * @description Two executions compared by what happened, whatever the times and the order of what ran side by side.
         */
        DiffDocument: {
            ctx: components["schemas"]["DifferenceRow"][];
            executions: components["schemas"]["ComparedRow"][];
            first: components["schemas"]["FirstDifference"] | null;
            inputs: components["schemas"]["DifferenceRow"][];
            is_same: boolean;
            omitted_steps: number;
            output: components["schemas"]["DifferenceRow"][];
            playbook: components["schemas"]["ComparedText"];
            steps: components["schemas"]["DifferingStep"][];
        };
        /**
         * DifferenceRow
         * @description Two values under one path; a side that has nothing there is left out. Cut where they are long.
         */
        DifferenceRow: {
            after?: unknown;
            before?: unknown;
            path?: string;
        };
        /** ComparedRow */
        ComparedRow: {
            /** @description a number, as text */
            execution_id: string;
            path: string;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "incident" | "running" | "success" | "waiting";
            version: number;
        };
        /**
         * FirstDifference
         * @description Where two executions part, in causal order; pairs are the two sides, null where there is nothing.
         */
        FirstDifference: {
            after: unknown;
            attempt: number | null;
            before: unknown;
            differences: components["schemas"]["DifferenceRow"][];
            field: string | null;
            /** @description of nested loops with dots */
            iteration: string | null;
            lines: (number | null)[];
            runs: (number | null)[];
            sentence: string;
            seqs: (number | null)[];
            step: string;
            task: string | null;
            visit: number | null;
            /** @enum {unknown} */
            what: "admission" | "arcs" | "child" | "end" | "loop" | "run" | "task";
        };
        /** ComparedText */
        ComparedText: {
            is_same: boolean;
            steps: components["schemas"]["ChangedStep"][];
        };
        /** ChangedStep */
        ChangedStep: {
            /** @enum {unknown} */
            change: "changed" | "gone" | "new";
            step: string;
        };
        /**
         * DifferingStep
         * @description A step run that differs, or that only one has.
         */
        DifferingStep: {
            attempts: (number | null)[];
            lines: (number | null)[];
            runs: (number | null)[];
            sentence: string;
            statuses: (string | null)[];
            step: string;
            what: string;
        };
        /**
         * Evaluate
         * @description An expression, and where in the execution it is to be read.
         */
        Evaluate: {
            expression: string;
            /**
             * @description after this event; without it, the last
             * @default null
             */
            at?: number | null;
            /** @default null */
            step?: string | null;
            /** @default null */
            run?: number | null;
            /** @default null */
            iteration?: number | null;
            /** @default null */
            task?: string | null;
        };
        /**
         * Evaluation
         * @description What an expression gives.
         */
        Evaluation: {
            error: components["schemas"]["EvaluationError"] | null;
            is_cut: boolean;
            reads: components["schemas"]["ReadRow"][];
            /** @description the names that may be read there */
            scope: string[];
            seq: number;
            /** @description text, number, boolean, list, mapping, null; empty: an error */
            type: string;
            value: unknown;
        };
        /** EvaluationError */
        EvaluationError: {
            /** @description from 1, in the expression */
            column: number | null;
            message: string;
        };
        /** PageQuery */
        "noetl.api.events.PageQuery": {
            /**
             * @description only events after this one
             * @default 0
             */
            after?: number;
            /**
             * @description at most so many
             * @default 500
             */
            limit?: number;
        };
        /**
         * EventPage
         * @description A page of a log, oldest first.
         */
        EventPage: {
            events: components["schemas"]["EventDocument"][];
            /** @description `after` of the next page; null: the log ends here, for now */
            next: number | null;
        };
        /** StreamQuery */
        StreamQuery: {
            /** @default null */
            after?: number | null;
        };
        /** TimelineQuery */
        TimelineQuery: {
            /**
             * @description `next` of the page before
             * @default 0
             */
            after?: number;
            /**
             * @description at most so many
             * @default 500
             */
            limit?: number;
        };
        /**
         * TimelinePage
         * @description The step runs of an execution, in the order in which they were scheduled.
         */
        TimelinePage: {
            /** @description how long the runs of the critical path took, together */
            critical_ms: number;
            duration_ms: number | null;
            /** @description a number, as text */
            execution_id: string;
            /** @description there are more than are kept of one execution; these are the first */
            is_cut: boolean;
            last_seq: number;
            /** @description `after` of the next page; null: this is the last, for now */
            next: number | null;
            /** @description the request, from which milliseconds count */
            origin: string | null;
            runs: components["schemas"]["TimelineRun"][];
        };
        /**
         * TimelineRun
         * @description One step run; an inner loop is part of the step run it stands in.
         */
        TimelineRun: {
            attempts: number;
            /** @description the run that this one undoes */
            compensates: number | null;
            ended_ms: number | null;
            error: string | null;
            /** @description it is one of the chain of runs that decided when all was over */
            is_critical: boolean;
            loop: components["schemas"]["LoopProgress"] | null;
            retries: number;
            run: number;
            /** @description milliseconds since the request */
            scheduled_ms: number;
            /** @description the runs whose tokens it took */
            sources: number[];
            started_ms: number | null;
            /** @enum {unknown} */
            status: "cancelled" | "failed" | "running" | "success";
            step: string;
        };
        /**
         * LoopProgress
         * @description How far a loop is.
         */
        LoopProgress: {
            done: number;
            failed: number;
            in_flight: number;
            total: number;
        };
        /** IterationQuery */
        IterationQuery: {
            /** @description the number of a run: of a step, or of an inner loop */
            run: number;
            /** @default null */
            status?: ("cancelled" | "done" | "failed" | "in_flight" | "not_started") | null;
            /**
             * @description `next` of the page before
             * @default 0
             */
            after?: number;
            /**
             * @description at most so many
             * @default 500
             */
            limit?: number;
        };
        /**
         * IterationPage
         * @description The iterations of one loop, by index.
         */
        IterationPage: {
            counts: components["schemas"]["IterationCounts"];
            /** @description there are more than are kept of one execution; these are the first */
            is_cut: boolean;
            iterations: components["schemas"]["IterationRow"][];
            /** @description `after` of the next page; null: this is the last, for now */
            next: number | null;
            run: number;
            step: string;
            total: number;
        };
        /** IterationCounts */
        IterationCounts: {
            cancelled: number;
            done: number;
            failed: number;
            in_flight: number;
            not_started: number;
        };
        /**
         * IterationRow
         * @description One iteration of a loop.
         */
        IterationRow: {
            attempts: number;
            ended_ms: number | null;
            error: string | null;
            /** @description the run of the loop inside, where there is one */
            inner_run: number | null;
            iteration: number;
            started_ms: number | null;
            /** @enum {unknown} */
            status: "cancelled" | "done" | "failed" | "in_flight" | "not_started";
        };
        /** AttemptQuery */
        AttemptQuery: {
            /** @default null */
            run?: number | null;
            /** @default null */
            iteration?: number | null;
            /**
             * @description `next` of the page before
             * @default 0
             */
            after?: number;
            /**
             * @description at most so many
             * @default 500
             */
            limit?: number;
        };
        /**
         * AttemptPage
         * @description Attempts, in the order in which they began.
         */
        AttemptPage: {
            attempts: components["schemas"]["AttemptRow"][];
            /** @description there are more than are kept of one execution; these are the first */
            is_cut: boolean;
            /** @description `after` of the next page; null: this is the last, for now */
            next: number | null;
        };
        /**
         * AttemptRow
         * @description One attempt of one task, and what the pipeline did next.
         */
        AttemptRow: {
            attempt: number;
            /** @description the wait before the next attempt */
            delay_seconds: number | null;
            /** @description continue, retry, jump, break, fail or skip */
            do: string | null;
            ended_ms: number | null;
            error: string | null;
            /** @description its data is kept outside the log, see /results?seq= */
            has_ref: boolean;
            iteration: number | null;
            kind: string;
            /** @description which rule of the task's policy said so, from 0 */
            rule: number | null;
            run: number;
            seq_ended: number | null;
            seq_started: number;
            /** @description milliseconds since the request */
            started_ms: number;
            /** @enum {unknown} */
            status: "error" | "ok" | "running" | "skipped" | "waiting";
            task: string;
            /** @description of a jump: the task it goes to */
            to: string | null;
            visit: number;
            /** @description null: the log does not say who */
            worker: string | null;
        };
        /** LogQuery */
        LogQuery: {
            /**
             * @description only lines of this step
             * @default null
             */
            step?: string | null;
            /** @default null */
            run?: number | null;
            /** @default null */
            iteration?: number | null;
            /**
             * @description only lines of this task
             * @default null
             */
            task?: string | null;
            /**
             * @description this level and those above it
             * @default null
             */
            level?: ("debug" | "error" | "info" | "warning") | null;
            /**
             * @description text that stands in the line, in whatever letters
             * @default null
             */
            q?: string | null;
            /** @default null */
            after?: number | null;
            /**
             * @description at most so many
             * @default 500
             */
            limit?: number;
        };
        /**
         * LogPage
         * @description Lines in the order of the log. A page ends with an event's last line, so it may have a few more than `limit`.
         */
        LogPage: {
            /** @description there are more than are kept of one execution; these are the first */
            is_cut: boolean;
            lines: components["schemas"]["LogLine"][];
            /** @description `after` of the next page; null: this is the last, for now */
            next: number | null;
        };
        /**
         * LogLine
         * @description A line that a task printed, or a fact about the execution in words.
         */
        LogLine: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            at: string;
            attempt: number | null;
            iteration: number | null;
            /** @enum {unknown} */
            level: "debug" | "error" | "info" | "warning";
            /** @description which of that event's lines, from 0 */
            line: number;
            run: number | null;
            /** @description the event that brought it */
            seq: number;
            /** @enum {unknown} */
            source: "engine" | "task";
            step: string | null;
            task: string | null;
            text: string;
        };
        /**
         * LogStreamQuery
         * @description Which lines; all that are given must hold.
         */
        LogStreamQuery: {
            /**
             * @description only lines of this step
             * @default null
             */
            step?: string | null;
            /** @default null */
            run?: number | null;
            /** @default null */
            iteration?: number | null;
            /**
             * @description only lines of this task
             * @default null
             */
            task?: string | null;
            /**
             * @description this level and those above it
             * @default null
             */
            level?: ("debug" | "error" | "info" | "warning") | null;
            /**
             * @description text that stands in the line, in whatever letters
             * @default null
             */
            q?: string | null;
            /** @default null */
            after?: number | null;
        };
        /** ExportQuery */
        ExportQuery: {
            /** @default null */
            payload_bytes_max?: number | null;
        };
        /**
         * ViewingRow
         * @description An exported execution that this server holds for a while.
         */
        ViewingRow: {
            events: number;
            /** @description what to look at it by, on this server, with this token */
            execution_id: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            expires_at: string;
            path: string;
        };
        /** ResultQuery */
        ResultQuery: {
            /** @description the event that holds the reference */
            seq: number;
            /** @default null */
            sha256?: string | null;
        };
        /** Credentials */
        Credentials: {
            credentials: components["schemas"]["UsedCredential"][];
            missing: components["schemas"]["MissingCredential"][];
        };
        /**
         * UsedCredential
         * @description A stored credential, and who uses it.
         */
        UsedCredential: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            fields: string[];
            /** @enum {unknown} */
            is_stored: true;
            kind: string;
            name: string;
            origin: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            updated_at: string;
            /** @description paths whose newest version declares it, the first 100 that are seen */
            used_by: string[];
            /** @description how many such paths there are */
            uses: number;
            version: number;
        };
        /**
         * MissingCredential
         * @description A credential that playbooks declare and nobody stored; a variable of whoever runs it may still have it.
         */
        MissingCredential: {
            /** @enum {unknown} */
            is_stored: false;
            kind: string;
            name: string;
            /** @description that the playbook names for it, and that is asked instead */
            provider: string | null;
            /** @description paths whose newest version declares it, the first 100 that are seen */
            used_by: string[];
            /** @description how many such paths there are */
            uses: number;
        };
        /**
         * Kept
         * @description A credential: its kind, and its fields with their values.
         */
        Kept: {
            kind: string;
            fields: Record<string, unknown>;
        };
        /**
         * CredentialRow
         * @description A stored credential: all that anybody ever sees of it.
         */
        CredentialRow: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            fields: string[];
            kind: string;
            name: string;
            origin: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            updated_at: string;
            version: number;
        };
        /** Tried */
        Tried: {
            /** @default true */
            is_connecting?: boolean;
        };
        /**
         * Proof
         * @description Whether a credential works.
         */
        Proof: {
            error: string | null;
            is_ok: boolean;
            is_unreachable: boolean;
            kind: string;
            name: string;
            origin: string;
            tried: string[];
        };
        /** ListQuery */
        "noetl.api.start_documents.ListQuery": {
            /**
             * @description at most so many
             * @default 100
             */
            limit?: number;
            /** @default null */
            cursor?: string | null;
        };
        /** SchedulePage */
        SchedulePage: {
            /** @description the cursor of the next page; null: this is the last */
            next: string | null;
            schedules: components["schemas"]["ScheduleRow"][];
        };
        /**
         * ScheduleRow
         * @description A schedule, and how it stands.
         */
        ScheduleRow: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            applied_at: string;
            /** @enum {unknown} */
            catch_up: "all" | "last" | "none";
            catch_up_max: number;
            counts: components["schemas"]["Counts"];
            cron: string | null;
            description: string;
            end_at: string | null;
            every_seconds: number | null;
            is_changed?: boolean;
            jitter_seconds: number;
            labels: Record<string, unknown>;
            last_error: string;
            last_execution_id: string | null;
            last_missed_at: string | null;
            last_skipped_at: string | null;
            name: string;
            next_at: string | null;
            notes?: string[];
            /** @enum {unknown} */
            overlap: "allow" | "cancel" | "queue" | "skip";
            path: string;
            payload: Record<string, unknown>;
            start_at: string | null;
            /** @enum {unknown} */
            state: "active" | "ended" | "paused" | "waiting";
            timezone: string;
            version: number | null;
            waiting: number;
        };
        /** Counts */
        Counts: {
            failed: number;
            missed: number;
            skipped: number;
            started: number;
        };
        /** ShowQuery */
        ShowQuery: {
            /**
             * @description how many due times to come
             * @default 5
             */
            count?: number;
        };
        /** ScheduleShown */
        ScheduleShown: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            applied_at: string;
            /** @enum {unknown} */
            catch_up: "all" | "last" | "none";
            catch_up_max: number;
            counts: components["schemas"]["Counts"];
            cron: string | null;
            description: string;
            end_at: string | null;
            every_seconds: number | null;
            is_changed?: boolean;
            jitter_seconds: number;
            labels: Record<string, unknown>;
            last_error: string;
            last_execution_id: string | null;
            last_missed_at: string | null;
            last_skipped_at: string | null;
            name: string;
            /** @description due times to come, in the schedule's time zone */
            next: string[];
            next_at: string | null;
            notes?: string[];
            /** @enum {unknown} */
            overlap: "allow" | "cancel" | "queue" | "skip";
            path: string;
            payload: Record<string, unknown>;
            /** @description newest first */
            recent: components["schemas"]["FiringRow"][];
            start_at: string | null;
            /** @enum {unknown} */
            state: "active" | "ended" | "paused" | "waiting";
            timezone: string;
            version: number | null;
            waiting: number;
        };
        /**
         * FiringRow
         * @description What became of one due time.
         */
        FiringRow: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            at: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            due_at: string;
            execution_id: string | null;
            /** @enum {unknown} */
            outcome: "failed" | "skipped" | "started";
            why: string;
        };
        /**
         * Given
         * @description Documents as text; the one whose name is in the path is applied.
         */
        "noetl.api.start_documents.Given": {
            /** @description YAML */
            text: string;
            /**
             * @description what its file is called, for messages
             * @default document.yaml
             */
            name?: string;
        };
        /** Begun */
        Begun: {
            /** @description a number, as text */
            execution_id: string;
            is_new: boolean;
        };
        /** TriggerPage */
        TriggerPage: {
            /** @description the cursor of the next page; null: this is the last */
            next: string | null;
            triggers: components["schemas"]["TriggerRow"][];
        };
        /**
         * TriggerRow
         * @description A trigger, and what came of its messages; counts are a few seconds late.
         */
        TriggerRow: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            applied_at: string;
            counts: components["schemas"]["TriggerCounts"];
            dedupe: Record<string, unknown> | null;
            description: string;
            event_key: string;
            /** @description where requests go */
            hook: string | null;
            is_changed?: boolean;
            is_paused: boolean;
            labels: Record<string, unknown>;
            last_error: string;
            last_error_at: string | null;
            last_execution_id: string | null;
            last_started_at: string | null;
            name: string;
            nats: Record<string, unknown> | null;
            notes?: string[];
            path: string;
            payload: Record<string, unknown>;
            rate_per_minute: number;
            version: number | null;
            webhook: Record<string, unknown> | null;
        };
        /** TriggerCounts */
        TriggerCounts: {
            refused: number;
            repeated: number;
            started: number;
        };
        /** Workers */
        Workers: {
            workers: components["schemas"]["WorkerRow"][];
        };
        /**
         * WorkerRow
         * @description A worker that was seen.
         */
        WorkerRow: {
            host: string;
            jobs: number;
            kinds: string[];
            pid: number;
            pool: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            seen_at: string;
            slots: number;
            version: string;
            worker: string;
        };
        /** Pools */
        Pools: {
            pools: components["schemas"]["PoolRow"][];
        };
        /**
         * PoolRow
         * @description What waits and runs in a pool.
         */
        PoolRow: {
            leased: number;
            oldest_wait_seconds: number;
            parked: number;
            pool: string;
            ready: number;
            /** @description why jobs wait, where nobody takes them */
            reason: string | null;
            workers: number;
        };
        /** JobsQuery */
        JobsQuery: {
            /** @default null */
            pool?: string | null;
            /** @default null */
            worker?: string | null;
            /** @default null */
            state?: ("leased" | "parked" | "ready") | null;
            /**
             * @description at most so many
             * @default 200
             */
            limit?: number;
        };
        /** Jobs */
        Jobs: {
            /** @description there are more than these */
            is_cut: boolean;
            /** @description leased ones first, then ready ones, then parked ones */
            jobs: components["schemas"]["QueuedJob"][];
        };
        /**
         * QueuedJob
         * @description A job: a step run, or an iteration of one, that a worker is to do or does.
         */
        QueuedJob: {
            /** @description since it was last ready to be taken */
            age_seconds: number;
            deliveries: number;
            /** @description of a parked one that waits for a time, not for a child */
            due_in_seconds: number | null;
            /** @description a number, as text */
            execution_id: string;
            iteration: number | null;
            /** @description since its worker was last heard of it */
            lease_age_seconds: number | null;
            /** @description until it goes to another, if nothing is heard */
            lease_left_seconds: number | null;
            path: string;
            pool: string;
            /** @description lower ones first */
            priority: number;
            run: number;
            /** @enum {unknown} */
            state: "leased" | "parked" | "ready";
            /** @description null: it ended meanwhile */
            step: string | null;
            /** @description who holds it */
            worker: string | null;
        };
        /**
         * NewToken
         * @description What a token is to be for.
         */
        NewToken: {
            role: string;
            /** @default  */
            label?: string;
            /** @default  */
            pool?: string;
            /** @default  */
            path_prefix?: string;
            /** @default null */
            expires_in_seconds?: number | null;
        };
        /**
         * MadeToken
         * @description The same, and the token: this is the only time that it is to be had.
         */
        MadeToken: {
            id: string;
            label: string;
            role: string;
            pool: string | null;
            path_prefix: string | null;
            status: string;
            created_at: string;
            created_by: string | null;
            expires_at: string | null;
            revoked_at: string | null;
            token: string;
        };
        /** TokenRows */
        TokenRows: {
            tokens: components["schemas"]["noetl.api.tokens.TokenRow"][];
        };
        /**
         * TokenRow
         * @description What may be known of a token.
         */
        "noetl.api.tokens.TokenRow": {
            id: string;
            label: string;
            role: string;
            pool: string | null;
            path_prefix: string | null;
            status: string;
            created_at: string;
            created_by: string | null;
            expires_at: string | null;
            revoked_at: string | null;
        };
        /** Alive */
        Alive: {
            /** @enum {unknown} */
            status: "ok";
        };
        /**
         * Health
         * @description Whether a server works, part by part.
         */
        Health: {
            checks: components["schemas"]["HealthCheck"][];
            is_ok: boolean;
            /** @description by the server's clock */
            now: string;
            version: string;
        };
        /** HealthCheck */
        HealthCheck: {
            detail: string;
            is_ok: boolean;
            name: string;
            seconds: number;
        };
        /** PageQuery */
        "noetl.api.docs.PageQuery": {
            /**
             * @default page
             * @enum {unknown}
             */
            part?: "page" | "script" | "style";
        };
        /**
         * Execute
         * @description `payload`, `workload`, `args`, `parameters` and `input_payload` are one and the same.
         */
        Execute: {
            /** @default null */
            path?: string | null;
            /**
             * @description a number, or "latest"
             * @default null
             */
            version?: number | string | null;
            /** @default null */
            catalog_id?: string | null;
            /** @default null */
            payload?: Record<string, unknown> | null;
            /** @default null */
            workload?: Record<string, unknown> | null;
            /** @default null */
            args?: Record<string, unknown> | null;
            /** @default null */
            parameters?: Record<string, unknown> | null;
            /** @default null */
            input_payload?: Record<string, unknown> | null;
            /** @default playbook */
            resource_kind?: string;
            /** @default playbook */
            resource_type?: string;
            /** @default playbook */
            type?: string;
            /** @default false */
            merge?: boolean;
        };
        /** ExecutionUpstream */
        ExecutionUpstream: {
            duration_seconds: number | null;
            end_time: string | null;
            /** @description a number, as text */
            execution_id: string;
            parent_execution_id: string | null;
            path: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            start_time: string;
            /** @enum {unknown} */
            status: "CANCELLED" | "COMPLETED" | "FAILED" | "RUNNING";
            version: number;
        };
        /** ExecutionsQuery */
        ExecutionsQuery: {
            /** @default null */
            path?: string | null;
            /** @default 100 */
            limit?: number;
        };
        /** StatusUpstream */
        StatusUpstream: {
            completed: boolean;
            completed_steps: string[];
            current_step: string | null;
            error: string | null;
            /** @description a number, as text */
            execution_id: string;
            failed: boolean;
            /** @enum {unknown} */
            status: "CANCELLED" | "COMPLETED" | "FAILED" | "RUNNING";
        };
        /** EventsUpstream */
        EventsUpstream: {
            events: components["schemas"]["EventUpstream"][];
        };
        /** EventUpstream */
        EventUpstream: {
            event_id: number;
            event_type: string;
            /** @description a number, as text */
            execution_id: string;
            node_name: string | null;
            status: string | null;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            timestamp: string;
        };
        /** CancelUpstream */
        CancelUpstream: {
            /**
             * @description for the log
             * @default null
             */
            reason?: string | null;
            /** @default true */
            cascade?: boolean;
        };
        /** CancelledUpstream */
        CancelledUpstream: {
            /** @description a number, as text */
            execution_id: string;
            /** @enum {unknown} */
            status: "CANCELLED" | "COMPLETED" | "FAILED" | "RUNNING";
        };
        /** Register */
        Register: {
            /** @description YAML, or that in base64 */
            content: string;
            /** @default Playbook */
            resource_type?: string;
        };
        /** Registered */
        Registered: {
            catalog_id: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            /** @enum {unknown} */
            kind: "Playbook";
            message: string;
            path: string;
            /** @enum {unknown} */
            status: "success";
            version: number;
        };
        /** ListResources */
        ListResources: {
            /** @default Playbook */
            resource_type?: string;
        };
        /** Resources */
        Resources: {
            entries: components["schemas"]["ResourceRow"][];
        };
        /** ResourceRow */
        ResourceRow: {
            catalog_id: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            /** @enum {unknown} */
            kind: "Playbook";
            path: string;
            version: number;
        };
        /** Resource */
        Resource: {
            /** @default null */
            path?: string | null;
            /**
             * @description a number, or "latest"
             * @default null
             */
            version?: number | string | null;
            /** @default null */
            catalog_id?: string | null;
            /** @default Playbook */
            resource_type?: string;
        };
        /** ResourceText */
        ResourceText: {
            catalog_id: string;
            content: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            /** @enum {unknown} */
            kind: "Playbook";
            path: string;
            version: number;
        };
        /** CredentialsQuery */
        CredentialsQuery: {
            /** @default null */
            type?: string | null;
            /** @default null */
            q?: string | null;
        };
        /** CredentialsUpstream */
        CredentialsUpstream: {
            items: components["schemas"]["CredentialUpstream"][];
        };
        /** CredentialUpstream */
        CredentialUpstream: {
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            created_at: string;
            name: string;
            type: string;
            /** @description a time, as 2026-03-01T12:00:00.000Z */
            updated_at: string;
        };
        /** PutCredential */
        PutCredential: {
            name: string;
            type: string;
            data: Record<string, unknown>;
            /** @default null */
            description?: string | null;
            /** @default null */
            tags?: unknown;
            /** @default null */
            meta?: unknown;
        };
        /** CredentialQuery */
        CredentialQuery: {
            /** @default false */
            include_data?: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    show_identity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityShown"];
                };
            };
        };
    };
    show_overview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
        };
    };
    stream_changes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `listening` once, from when on nothing is missed; then `executions` (data: the row that changed) and `workforce`, `schedules`, `triggers`, `catalog`, `health`, `overview` (data: an empty object), each when something has changed that the token may see */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    list_playbooks: {
        parameters: {
            query?: {
                path?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogPage"];
                };
            };
        };
    };
    register_playbook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["noetl.api.catalog.Given"];
                "application/yaml": unknown;
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogRow"];
                };
            };
        };
    };
    list_versions: {
        parameters: {
            query: {
                path: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogPage"];
                };
            };
        };
    };
    show_playbook: {
        parameters: {
            query: {
                path: string;
                version?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogText"];
                };
            };
        };
    };
    compare_versions: {
        parameters: {
            query: {
                path: string;
                old: number;
                new?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Difference"];
                };
            };
        };
    };
    check_playbook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GivenToCheck"];
                "application/yaml": unknown;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckReport"];
                };
            };
        };
    };
    list_recent_playbooks: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                runs?: number;
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecentPage"];
                };
            };
        };
    };
    graph_playbook: {
        parameters: {
            query: {
                path: string;
                version?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphAnswer"];
                };
            };
        };
    };
    graph_text: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GivenToCheck"];
                "application/yaml": unknown;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphAnswer"];
                };
            };
        };
    };
    complete_text: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cursor"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Completions"];
                };
            };
        };
    };
    describe_text: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cursor"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Description"];
                };
            };
        };
    };
    show_schema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
        };
    };
    list_kinds: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KindsDocument"];
                };
            };
        };
    };
    explain_rule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RulePage"];
                };
            };
        };
    };
    show_workload: {
        parameters: {
            query: {
                path: string;
                version?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workload"];
                };
            };
        };
    };
    repair_playbook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GivenToCheck"];
                "application/yaml": unknown;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Repaired"];
                };
            };
        };
    };
    list_executions: {
        parameters: {
            query?: {
                status?: string;
                path?: string;
                q?: string;
                id?: string;
                since?: string;
                until?: string;
                parent?: string;
                is_root?: boolean;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionPage"];
                };
            };
        };
    };
    start_execution: {
        parameters: {
            query?: never;
            header?: {
                /** @description one execution per key, ever: the same key again answers with the one there is */
                "Idempotency-Key"?: string;
                /** @description the execution becomes part of this trace (W3C Trace Context) */
                traceparent?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Start"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRow"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRow"];
                };
            };
        };
    };
    rerun_execution: {
        parameters: {
            query?: never;
            header?: {
                /** @description one execution per key, ever: the same key again answers with the one there is */
                "Idempotency-Key"?: string;
            };
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rerun"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRow"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRow"];
                };
            };
        };
    };
    act_on_executions: {
        parameters: {
            query?: never;
            header?: {
                /** @description one execution per key, ever: the same key again answers with the one there is, of each execution that is run again */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Bulk"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkReport"];
                };
            };
        };
    };
    show_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Shown"];
                };
            };
        };
    };
    summarize_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Summary"];
                };
            };
        };
    };
    show_state: {
        parameters: {
            query?: {
                at?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateDocument"];
                };
            };
        };
    };
    verify_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verified"];
                };
            };
        };
    };
    cancel_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cancel"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatusRow"];
                };
            };
        };
    };
    signal_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Signal"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatusRow"];
                };
            };
        };
    };
    resume_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatusRow"];
                };
            };
        };
    };
    graph_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphAnswer"];
                };
            };
        };
    };
    show_moment: {
        parameters: {
            query?: {
                at?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MomentDocument"];
                };
            };
        };
    };
    list_landmarks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Landmarks"];
                };
            };
        };
    };
    explain_step: {
        parameters: {
            query: {
                step: string;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyDocument"];
                };
            };
        };
    };
    diff_executions: {
        parameters: {
            query: {
                other: string;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiffDocument"];
                };
            };
        };
    };
    evaluate_expression: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Evaluate"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Evaluation"];
                };
            };
        };
    };
    stream_executions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description events `execution`, whose data is a row of the list */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    list_events: {
        parameters: {
            query?: {
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
    stream_events: {
        parameters: {
            query?: {
                after?: number;
            };
            header?: {
                /** @description the last event that arrived; `after` wins over it */
                "Last-Event-ID"?: string;
            };
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description each event under its name, with its seq as id; data is the event's document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    show_timeline: {
        parameters: {
            query?: {
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelinePage"];
                };
            };
        };
    };
    list_iterations: {
        parameters: {
            query: {
                run: number;
                status?: "cancelled" | "done" | "failed" | "in_flight" | "not_started";
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IterationPage"];
                };
            };
        };
    };
    list_attempts: {
        parameters: {
            query?: {
                run?: number;
                iteration?: number;
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptPage"];
                };
            };
        };
    };
    list_lines: {
        parameters: {
            query?: {
                step?: string;
                run?: number;
                iteration?: number;
                task?: string;
                level?: "debug" | "error" | "info" | "warning";
                q?: string;
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
        };
    };
    stream_lines: {
        parameters: {
            query?: {
                step?: string;
                run?: number;
                iteration?: number;
                task?: string;
                level?: "debug" | "error" | "info" | "warning";
                q?: string;
                after?: number;
            };
            header?: {
                /** @description the last id that arrived; `after` wins over it */
                "Last-Event-ID"?: string;
            };
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description events `line`, whose data is a line; the last of an event's lines has its seq */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    export_execution: {
        parameters: {
            query?: {
                payload_bytes_max?: number;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a header, then one event a line, as stored; then payloads, if asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    bring_viewing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": unknown;
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ViewingRow"];
                };
            };
        };
    };
    read_result: {
        parameters: {
            query: {
                seq: number;
                sha256?: string;
            };
            header?: never;
            path: {
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the payload, as it was stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    list_credentials: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Credentials"];
                };
            };
        };
    };
    keep_credential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                credential: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Kept"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CredentialRow"];
                };
            };
        };
    };
    remove_credential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                credential: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    try_credential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                credential: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Tried"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Proof"];
                };
            };
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
        };
    };
    show_schedule: {
        parameters: {
            query?: {
                count?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleShown"];
                };
            };
        };
    };
    apply_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["noetl.api.start_documents.Given"];
                "application/yaml": unknown;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleRow"];
                };
            };
        };
    };
    remove_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleRow"];
                };
            };
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleRow"];
                };
            };
        };
    };
    run_schedule_now: {
        parameters: {
            query?: never;
            header?: {
                /** @description one execution per key, ever: the same key again answers with the one there is */
                "Idempotency-Key"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    list_triggers: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerPage"];
                };
            };
        };
    };
    show_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerRow"];
                };
            };
        };
    };
    apply_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["noetl.api.start_documents.Given"];
                "application/yaml": unknown;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerRow"];
                };
            };
        };
    };
    remove_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    receive_hook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": unknown;
                "text/plain": unknown;
                "application/octet-stream": unknown;
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workers"];
                };
            };
        };
    };
    list_pools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pools"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                pool?: string;
                worker?: string;
                state?: "leased" | "parked" | "ready";
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Jobs"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenRows"];
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeToken"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["noetl.api.tokens.TokenRow"];
                };
            };
        };
    };
    show_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    show_openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
        };
    };
}
