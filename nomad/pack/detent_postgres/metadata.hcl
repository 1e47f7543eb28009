app {
  url = "https://github.com/detent-ml/detent"
}

pack {
  name        = "detent_postgres"
  description = "PostgreSQL for a Detent cluster, with a copy of the database each day."
  url         = "https://github.com/detent-ml/detent"
  version     = "0.1.0"
}
