app {
  url = "https://github.com/detent-ml/detent"
}

pack {
  name        = "detent"
  description = "The master of a Detent cluster: deep-learning training on Nomad, compatible with Determined 0.38."
  url         = "https://github.com/detent-ml/detent"
  version     = "0.1.0"
}
