"""Secrets that others keep: one file per provider, all behind contract.py; source.py makes them a source of entries.

    env     a variable that the operator allows          file    a file under a folder that the operator allows
    vault   Vault-style HTTP, KV version 2               aws     AWS Secrets Manager
    gcp     Google Secret Manager                        azure   Azure Key Vault

The author's declaration says which secret; where a service is and who asks is the operator's.
"""
