"""What a generated playbook must come to: a straight interpreter of plans, and the comparison with logs."""
