# What a task may do in Vault: read credentials of the role that is named like its own Nomad job, and
# nothing else. setup.sh puts the accessor of the JWT method and the path of the AWS engine in.
path "@AWS_PATH@/sts/{{identity.entity.aliases.@ACCESSOR@.metadata.nomad_job_id}}" {
  capabilities = ["read"]
}

path "auth/token/renew-self" {
  capabilities = ["update"]
}
