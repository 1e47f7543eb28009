AllAtOnce = false
Datacenters = ["dc1"]
Dispatched = false
ID = "det-21-7c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11-1"
Meta {
  det_allocation = "21.7c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
  det_cluster = "6f3f0a4e-5f8e-4c5b-9d1e-2f7a3c1b0d9e"
  det_cluster_name = "lab"
  det_experiment = "12"
  det_owner = "alice"
  det_pool = "cpu"
  det_run = "1"
  det_task = "12.4c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11"
  det_title = "mnist"
  det_trial = "34"
  det_type = "TRIAL"
}
Name = "experiment 12 trial 34 (mnist) run 1"
NodePool = "default"
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
    det_slots = "0,1"
  }
  Name = "rank-0"
  Networks {
    DynamicPorts {
      IgnoreCollision = false
      Label = "runner"
      To = 0
      Value = 0
    }
    DynamicPorts {
      IgnoreCollision = false
      Label = "c10d"
      To = 0
      Value = 0
    }
    DynamicPorts {
      IgnoreCollision = false
      Label = "ipc1"
      To = 0
      Value = 0
    }
    DynamicPorts {
      IgnoreCollision = false
      Label = "ipc2"
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
    Meta {
      port-c10d = "${NOMAD_HOST_PORT_c10d}"
      port-ipc1 = "${NOMAD_HOST_PORT_ipc1}"
      port-ipc2 = "${NOMAD_HOST_PORT_ipc2}"
      port-runner = "${NOMAD_HOST_PORT_runner}"
      rank = "0"
    }
    Name = "det-21-7c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11-1"
    PortLabel = "runner"
    Provider = "consul"
    Tags = ["port-c10d=${NOMAD_HOST_PORT_c10d}","port-ipc1=${NOMAD_HOST_PORT_ipc1}","port-ipc2=${NOMAD_HOST_PORT_ipc2}","port-runner=${NOMAD_HOST_PORT_runner}","rank=0"]
  }
  Tasks {
    Artifacts {
      Chown = true
      GetterMode = "file"
      GetterOptions {
        checksum = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
      }
      GetterSource = "http://10.0.0.5:8080/runner/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08/linux-amd64"
      RelativeDest = "${NOMAD_ALLOC_DIR}/det-runner"
    }
    Config {
      args = ["-c","exec >>\"$NOMAD_ALLOC_DIR/logs/main.stdout.0\" 2>>\"$NOMAD_ALLOC_DIR/logs/main.stderr.0\" && chmod +x \"$NOMAD_ALLOC_DIR/det-runner\" && exec \"$NOMAD_ALLOC_DIR/det-runner\" run"]
      cap_drop = ["all"]
      command = "/bin/sh"
    }
    Driver = "exec"
    Env {
      DET_ALLOCATION_ID = "21.7c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
      DET_DRIVER = "exec"
      DET_MASTERS = "http://10.0.0.5:8080,http://10.0.0.6:8080"
      DET_NODE_ID = "11111111-1111-4111-8111-111111111111"
      DET_NODE_NAME = "n1"
      DET_NOMAD_LOGS = "3 10"
      DET_NO_NEW_PRIVS = "1"
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
      CPU = 4000
      MemoryMB = 2048
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
      DestPath = "${NOMAD_SECRETS_DIR}/s3.json"
      EmbeddedTmpl = "{{ with secret \"aws/sts/det-21-7c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11-1.default\" }}{\"Version\": 1, \"AccessKeyId\": {{ .Data.access_key | toJSON }}, \"SecretAccessKey\": {{ .Data.secret_key | toJSON }}, \"SessionToken\": {{ .Data.session_token | toJSON }}, \"LeaseSeconds\": {{ .LeaseDuration }}}{{ end }}"
      Wait {
        Max = "1s"
        Min = 10000000
      }
    }
    User = "nobody"
    Vault {
      ChangeMode = "noop"
      DisableFile = true
      Env = false
      Role = "det-task"
    }
  }
}
Type = "batch"
UI {
  Description = <<EOT
**Experiment 12 trial 34** — mnist

- Owner: alice
- Cluster: lab, pool cpu
- Run 1, 2 slots on 1 node

Detent submitted this job, watches it and ends it. It is one attempt: Nomad does not restart it, Detent does, as a new job.

Read its log: `det trial logs -f 34`. End it: `det trial kill 34`.
EOT
  Links {
    Label = "Experiment 12"
    URL = "http://master.example:8080/det/experiments/12"
  }
  Links {
    Label = "Trial 34"
    URL = "http://master.example:8080/det/experiments/12/trials/34"
  }
}
