# What nomad-autoscaler and det-scaler may do where Nomad's ACLs are on: see which nodes are without
# tasks, of all namespaces, drain them, and purge those that are gone.

namespace "*" {
  capabilities = ["read-job"]
}

node {
  policy = "write"
}
