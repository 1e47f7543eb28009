# What the master may do in Consul, where ACLs are on: see where tasks and other masters are.
#
#   consul acl policy create -name det-master -rules @det-master.policy.hcl
#   consul acl token create -description "Detent's master" -policy-name det-master
#
# The token's secret goes into the master's Nomad variable: nomad var put nomad/jobs/det-master … consul_token=…
# The master registers nothing by itself, Nomad does that for it.
service_prefix "det-" {
  policy = "read"
}

# Addresses of services are looked up together with those of their nodes.
node_prefix "" {
  policy = "read"
}
