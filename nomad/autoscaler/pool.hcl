# As many nodes of the class p4d as the pool gpu wants, 0 to 8. One such block for each class.

scaling "gpu-p4d" {
  enabled = true
  min     = 0
  max     = 8

  policy {
    cooldown            = "1m"
    evaluation_interval = "10s"

    check "queue" {
      source       = "detent"
      query        = "det_pool_nodes_wanted{pool=\"gpu\",class=\"p4d\"}"
      query_window = "1m"

      strategy "pass-through" {}
    }

    target "detent" {
      node_pool  = "gpu"
      node_class = "p4d"
    }
  }
}
