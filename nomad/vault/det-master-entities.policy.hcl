
# Vault makes an entity for each Nomad job that signs in. The master removes those of its attempts with
# their roles. Vault cannot limit this right to them: leave it out, and vault.remove_entities false, if
# that is too much; then they stay.
path "identity/lookup/entity" {
  capabilities = ["update"]
}

path "identity/entity/id/*" {
  capabilities = ["delete"]
}

path "sys/auth" {
  capabilities = ["read"]
}
