# The configuration of nomad-autoscaler for pools of Detent. Environment: NOMAD_TOKEN with the policy
# det-scaler.policy.hcl, where Nomad's ACLs are on.

plugin_dir = "/opt/nomad-autoscaler/plugins" # has det-scaler

nomad {
  address = "http://127.0.0.1:4646"
}

policy {
  dir = "/etc/nomad-autoscaler/policies"
}

# Reads the gauges of the master that leads.
apm "detent" {
  driver = "det-scaler"
  args   = ["gauges"]
  config = {
    address = "http://detent-1:8080,http://detent-2:8080"
    # token_file = "/etc/nomad-autoscaler/detent-token" # an access token, for masters on other machines
    # ca_file    = "/etc/nomad-autoscaler/ca.pem"
  }
}

strategy "pass-through" {
  driver = "pass-through"
}

# Adds and removes nodes by a program of yours: count, grow N, shrink NAME …
target "detent" {
  driver = "det-scaler"
  args   = ["nodes"]
  config = {
    command = "/etc/nomad-autoscaler/nodes"
    timeout = "10m"
  }
}
