# What the master may do in Vault. setup.sh puts the path of the AWS engine and the role's ARN in.

# A role for each attempt that needs credentials, named like its Nomad job and namespace, removed when it is over. Only
# sessions of the one ARN can be had by them, so the master can hand out nothing that this does not allow.
path "@AWS_PATH@/roles/det-*" {
  capabilities = ["create", "read", "update", "delete"]
  allowed_parameters = {
    "credential_type" = ["assumed_role"]
    "role_arns"       = ["@ROLE_ARN@"]
    "policy_document" = []
    "default_sts_ttl" = []
    "max_sts_ttl"     = []
  }
}

# Roles whose attempts have ended are found by their names.
path "@AWS_PATH@/roles" {
  capabilities = ["list"]
}

# The master's own credentials: it reads checkpoints for people who download them, and stores what programs log with MLflow's client.
path "@AWS_PATH@/sts/detent-reader" {
  capabilities = ["read"]
}
# @ENTITIES@
path "auth/token/renew-self" {
  capabilities = ["update"]
}

path "auth/token/lookup-self" {
  capabilities = ["read"]
}
