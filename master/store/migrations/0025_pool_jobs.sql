-- What Nomad made of the jobs of resource pools, by the SHA-256 of their source: a master
-- also starts while Nomad is away. A master that reads the source anew renews used_at.
CREATE TABLE pool_jobs (
    sum     text PRIMARY KEY,
    parsed  jsonb NOT NULL,
    used_at timestamptz NOT NULL DEFAULT now()
);
