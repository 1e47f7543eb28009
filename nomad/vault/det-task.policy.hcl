# What a task may do in Vault: read credentials of the role that is named like its own Nomad job and the
# namespace of that job, and nothing else. A job in another namespace makes another name, whatever it is
# called: namespaces of Nomad contain no dot and no asterisk, and the namespace is the last part, before the
# region. setup.sh puts the accessor of the JWT method, the region and the path of the AWS engine in.
path "@AWS_PATH@/sts/{{identity.entity.aliases.@ACCESSOR@.metadata.nomad_job_id}}.{{identity.entity.aliases.@ACCESSOR@.metadata.nomad_namespace}}@REGION@" {
  capabilities = ["read"]
}

path "auth/token/renew-self" {
  capabilities = ["update"]
}
