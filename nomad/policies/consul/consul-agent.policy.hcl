# What a Consul agent needs for itself: to keep its own entry in the catalogue.
node_prefix "" {
  policy = "write"
}

service_prefix "" {
  policy = "read"
}
