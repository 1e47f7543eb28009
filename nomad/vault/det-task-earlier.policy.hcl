
# Tasks that began under masters of an earlier release read roles without a namespace in their names. This
# rule does not tell a job from one with the same name in another namespace: leave it out once these
# tasks have ended.
path "@AWS_PATH@/sts/{{identity.entity.aliases.@ACCESSOR@.metadata.nomad_job_id}}" {
  capabilities = ["read"]
}
