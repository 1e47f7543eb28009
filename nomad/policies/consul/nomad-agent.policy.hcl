# What Nomad's agents may do in Consul so that masters and tasks are registered, and the templates of tasks
# find the masters. A site that runs Nomad with Consul has a policy like it: service_prefix "det-" is the
# line that Detent adds, where that policy does not cover all services anyway.
service_prefix "det-" {
  policy = "write"
}

# Nomad's own agents, as they register themselves.
service_prefix "nomad" {
  policy = "write"
}

agent_prefix "" {
  policy = "read"
}

node_prefix "" {
  policy = "read"
}
