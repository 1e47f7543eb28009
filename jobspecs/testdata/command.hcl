AllAtOnce = false
Datacenters = ["*"]
Dispatched = false
ID = "det-b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40-1"
Meta {
  det_allocation = "b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40.1"
  det_cluster = "6f3f0a4e-5f8e-4c5b-9d1e-2f7a3c1b0d9e"
  det_cluster_name = "lab"
  det_owner = "alice"
  det_pool = "aux"
  det_run = "1"
  det_task = "b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40"
  det_type = "COMMAND"
}
Name = "command b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40 run 1"
Namespace = "detent"
NodePool = "all"
Reschedule {
  Attempts = 0
  Unlimited = false
}
TaskGroups {
  Constraints {
    LTarget = "${node.unique.id}"
    Operand = "="
    RTarget = "11111111-1111-4111-8111-111111111111"
  }
  Count = 1
  Disconnect {
    Replace = false
    StopOnClientAfter = "2m0s"
  }
  EphemeralDisk {
    Migrate = false
    SizeMB = 300
    Sticky = false
  }
  Meta {
    det_rank = "0"
  }
  Name = "rank-0"
  Networks {
    DynamicPorts {
      IgnoreCollision = false
      Label = "runner"
      To = 0
      Value = 0
    }
    Mode = "host"
  }
  ReschedulePolicy {
    Attempts = 0
    Unlimited = false
  }
  RestartPolicy {
    Attempts = 0
    Delay = "15s"
    Interval = "24h0m0s"
    Mode = "fail"
    RenderTemplates = false
  }
  Services {
    Checks {
      Expose = false
      FailuresBeforeCritical = 0
      FailuresBeforeWarning = 0
      GRPCUseTLS = false
      Interval = "10s"
      Name = "runner"
      Path = "/health"
      PortLabel = "runner"
      SuccessBeforePassing = 0
      TLSSkipVerify = false
      Timeout = "3s"
      Type = "http"
    }
    EnableTagOverride = false
    Name = "det-b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40-1"
    PortLabel = "runner"
    Provider = "nomad"
    Tags = ["port-runner=${NOMAD_HOST_PORT_runner}","rank=0"]
  }
  Tasks {
    Config {
      args = ["-c","exec >>\"$NOMAD_ALLOC_DIR/logs/main.stdout.0\" 2>>\"$NOMAD_ALLOC_DIR/logs/main.stderr.0\" && exec '/opt/detent'\\''s/det-runner' run"]
      command = "/bin/sh"
    }
    Driver = "raw_exec"
    Env {
      DET_ALLOCATION_ID = "b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40.1"
      DET_DRIVER = "raw_exec"
      DET_MASTERS = "http://10.0.0.5:8080,http://10.0.0.6:8080"
      DET_MASTERS_FILE = "${NOMAD_ALLOC_DIR}/masters"
      DET_NODE_ID = "11111111-1111-4111-8111-111111111111"
      DET_NODE_NAME = "n1"
      DET_NOMAD_LOGS = "3 10"
      DET_RANK = "0"
    }
    Identities {
      Audience = ["determined"]
      ChangeMode = "noop"
      Env = true
      File = false
      Name = "det"
      TTL = "25h0m0s"
    }
    KillSignal = "SIGTERM"
    KillTimeout = "30s"
    Leader = false
    LogConfig {
      Disabled = true
      MaxFileSizeMB = 10
      MaxFiles = 3
    }
    Name = "main"
    Resources {
      CPU = 50
      MemoryMB = 64
    }
    RestartPolicy {
      Attempts = 0
      Delay = "15s"
      Interval = "24h0m0s"
      Mode = "fail"
      RenderTemplates = false
    }
    ShutdownDelay = 0
    Templates {
      ChangeMode = "noop"
      DestPath = "${NOMAD_ALLOC_DIR}/masters"
      EmbeddedTmpl = <<EOT
{{ range nomadService "det-master" }}http://{{ .Address }}:{{ .Port }}
{{ end }}
EOT
    }
  }
}
Type = "batch"
UI {
  Description = <<EOT
**Command b2d9f5a0\-8f0c\-4c7e\-9d3b\-0a5e1c2d3f40**

- Owner: alice
- Cluster: lab, pool aux
- Run 1, 0 slots on 1 node

Detent submitted this job, watches it and ends it. It is one attempt: Nomad does not restart it, Detent does, as a new job.

Read its log: `det task logs -f b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40`. End it: `det command kill b2d9f5a0-8f0c-4c7e-9d3b-0a5e1c2d3f40`.
EOT
}
