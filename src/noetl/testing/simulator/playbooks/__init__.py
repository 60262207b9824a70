"""Generated playbooks: drawn from a seed as plans, written down as text, with scripts for what their tools do."""
