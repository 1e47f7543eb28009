# PostgreSQL for a Detent cluster, as one Nomad job, for a site that has no database yet:
#
#   nomad var put nomad/jobs/det-postgres password="…"
#   nomad volume create postgres.volume.hcl
#   nomad job run postgres.nomad.hcl
#
# The first start makes the role detent and its database detent. Each start gives the role the password of the Nomad
# variable, so a changed one counts from the next start on. A second task writes a copy of the database each day.
# docs/operate/database.md describes each step.

variable "job" {
  type        = string
  default     = [[ var "job" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Name of the job, of its service, and of the Nomad variable with its password (nomad/jobs/<job>)."
}

variable "namespace" {
  type    = string
  default = [[ var "namespace" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "region" {
  type    = string
  default = [[ var "region" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "datacenters" {
  type    = list(string)
  default = [[ var "datacenters" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "node_pool" {
  type    = string
  default = [[ var "node_pool" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "node" {
  type        = string
  default     = [[ var "node" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Name of the node to run on; empty for any node that has the volume. Without a volume (raw_exec) it must be named."
}

variable "driver" {
  type        = string
  default     = [[ var "driver" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "docker or podman with an image; exec or raw_exec with PostgreSQL's programs on the node."
}

variable "image" {
  type        = string
  default     = [[ var "image" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Image with PostgreSQL's programs and setpriv (docker and podman)."
}

variable "programs" {
  type        = string
  default     = [[ var "programs" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Folder of PostgreSQL's programs, such as /usr/lib/postgresql/17/bin; empty if they are on the PATH."
}

variable "user" {
  type        = string
  default     = [[ var "user" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Account that PostgreSQL runs as."
}

variable "volume" {
  type        = string
  default     = [[ var "volume" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Nomad volume for the files."
}

variable "volume_type" {
  type        = string
  default     = [[ var "volume_type" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "host, or csi for a volume that can follow the job to another node."
}

variable "folder" {
  type        = string
  default     = [[ var "folder" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Folder of the node for the files, in the place of the volume (raw_exec alone)."
}

variable "port" {
  type    = number
  default = [[ var "port" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "service_provider" {
  type        = string
  default     = [[ var "service_provider" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "nomad, or consul."
}

variable "backup_hours" {
  type        = number
  default     = [[ var "backup_hours" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Hours between two copies of the database, in the folder backups of the volume."
}

variable "backups" {
  type        = number
  default     = [[ var "backups" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "Number of copies that are kept."
}

variable "cpu" {
  type    = number
  default = [[ var "cpu" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
}

variable "memory" {
  type        = number
  default     = [[ var "memory" . | toJson | replace "${" "$${" | replace "%{" "%%{" ]]
  description = "MB; PostgreSQL keeps pages of its tables in a quarter of it."
}

locals {
  is_container = contains(["docker", "podman"], var.driver)
  on_host      = var.driver == "raw_exec"
  files        = local.on_host ? var.folder : "/data"

  # What both tasks do first. Where they start as root, they give the folder of a new volume to the account.
  account = <<-EOT
  set -eu
  [ -z "$DETENT_PROGRAMS" ] || export PATH="$DETENT_PROGRAMS:$PATH"
  export DETENT_PASSWORD="$${DETENT_PASSWORD-$(cat "$NOMAD_SECRETS_DIR/password")}" HOME="$DETENT_FILES"
  mkdir -p "$DETENT_FILES"
  if [ "$(id -u)" = 0 ]; then
    chown "$DETENT_USER" "$DETENT_FILES"
    chmod 0700 "$DETENT_FILES"
    # The account cannot read the task's folder, so it gets the text of this script.
    cd "$DETENT_FILES"
    exec setpriv --reuid="$DETENT_USER" --regid="$(id -g "$DETENT_USER")" --clear-groups /bin/sh -c "$(cat "$0")" "$0"
  fi
  umask 077
  cd "$DETENT_FILES"
  EOT
}

job "det-postgres" {
  id          = var.job
  name        = var.job
  type        = "service"
  region      = var.region
  namespace   = var.namespace
  datacenters = var.datacenters
  node_pool   = var.node_pool
  priority    = 90 # above the masters, which wait for it

  ui {
    description = "PostgreSQL of Detent: all state of the cluster, but checkpoints. While it is away, tasks continue to run."
  }

  update {
    max_parallel      = 1
    health_check      = "checks"
    min_healthy_time  = "2s"
    healthy_deadline  = "5m"
    progress_deadline = "10m"
  }

  group "postgres" {
    count = 1

    restart {
      attempts = 20
      interval = "2m"
      delay    = "2s"
      mode     = "delay"
    }

    # Two servers must never write the same files: a node that is only disconnected keeps its server, and no other
    # takes its place.
    disconnect {
      lost_after = "24h"
      replace    = false
      reconcile  = "keep_original"
    }

    dynamic "constraint" {
      for_each = var.node != "" ? [var.node] : local.on_host ? ["raw_exec needs -var node=…"] : []
      content {
        attribute = "${node.unique.name}"
        value     = constraint.value
      }
    }

    dynamic "volume" {
      for_each = local.on_host ? [] : [var.volume]
      labels   = ["files"]
      content {
        type            = var.volume_type
        source          = volume.value
        access_mode     = "single-node-single-writer"
        attachment_mode = "file-system"
      }
    }

    network {
      port "db" {
        static = var.port
      }
    }

    service {
      name     = var.job
      provider = var.service_provider
      port     = "db"

      check {
        name     = "it takes connections"
        type     = "tcp"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "postgres" {
      driver       = var.driver
      user         = var.driver == "exec" ? var.user : "" # exec refuses root, and the others begin as root
      kill_signal  = "SIGINT"                             # PostgreSQL ends its connections and writes what is in memory
      kill_timeout = "30s"

      config {
        command = "/bin/sh"
        args    = ["${NOMAD_TASK_DIR}/run.sh"]
        image   = local.is_container ? var.image : null
        ports   = local.is_container ? ["db"] : null
      }

      dynamic "volume_mount" {
        for_each = local.on_host ? [] : ["/data"]
        content {
          volume      = "files"
          destination = volume_mount.value
        }
      }

      env {
        DETENT_PROGRAMS = var.programs
        DETENT_USER     = var.user
        DETENT_FILES    = local.files
        DETENT_LISTEN   = local.is_container ? "*" : "${NOMAD_IP_db}"
      }

      template {
        destination = "secrets/password"
        change_mode = "restart"
        data        = "{{ with nomadVar \"nomad/jobs/${var.job}\" }}{{ .password }}{{ end }}"
      }

      template {
        destination     = "local/run.sh"
        left_delimiter  = "\u0001"
        right_delimiter = "\u0002"
        data            = <<-EOT
        ${local.account}
        data=$DETENT_FILES/data
        # Where each task has processes of its own, PostgreSQL cannot tell another server on these files from a dead one.
        exec 9>"$DETENT_FILES/lock"
        flock -n 9 || { echo "det-postgres: another server has these files" >&2; exit 1; }
        quoted=$(printf %s "$DETENT_PASSWORD" | sed "s/'/''/g")
        case $quoted in
          "") echo "det-postgres: the Nomad variable has no password" >&2; exit 1 ;;
          *"
        "*) echo "det-postgres: the password has a line break" >&2; exit 1 ;;
        esac
        # A server that was killed leaves its number in the folder. In a container that is the number of this shell, and
        # PostgreSQL takes it for a running server unless this shell is its parent: so not at the end of a pipe.
        alone() { postgres --single -D "$1" -c exit_on_error=on -c log_min_error_statement=panic postgres >/dev/null; }

        # A folder is there whole or not at all: what a first start left half done is made anew.
        if [ ! -s "$data/PG_VERSION" ]; then
          [ ! -e "$data" ] || { echo "det-postgres: $data is there, and no database that $DETENT_USER can read" >&2; exit 1; }
          rm -rf "$data.new"
          initdb --pgdata="$data.new" --auth-local=peer --auth-host=reject --encoding=UTF8 --locale=C.UTF-8 --data-checksums
          alone "$data.new" <<'SQL'
        CREATE ROLE detent LOGIN
        CREATE DATABASE detent OWNER detent
        SQL
          mv "$data.new" "$data"
        fi
        alone "$data" <<SQL
        ALTER ROLE detent PASSWORD '$quoted'
        SQL

        # The administrator, who has the name of the account, signs in inside this job only: nomad alloc exec.
        cat >"$DETENT_FILES/pg_hba.conf" <<'RULES'
        local all    all                    peer
        host  detent detent 0.0.0.0/0       scram-sha-256
        host  detent detent ::/0            scram-sha-256
        RULES
        port=$NOMAD_PORT_db listen=$DETENT_LISTEN files=$DETENT_FILES buffers=$((NOMAD_MEMORY_LIMIT / 4))
        # Nothing of the task's environment stays with the server: it has the password, and PG… are settings.
        exec env -i PATH="$PATH" HOME="$files" LANG=C.UTF-8 postgres -D "$data" -c listen_addresses="$listen" -c port="$port" \
          -c hba_file="$files/pg_hba.conf" -c unix_socket_directories="$files" -c shared_buffers="$${buffers}MB" \
          -c max_connections=200 -c dynamic_shared_memory_type=mmap -c password_encryption=scram-sha-256
        EOT
      }

      resources {
        cpu    = var.cpu
        memory = var.memory
      }
    }

    # It connects as the administrator, through the socket in the volume.
    task "backup" {
      driver = var.driver
      user   = var.driver == "exec" ? var.user : ""

      lifecycle {
        hook    = "poststart"
        sidecar = true
      }

      config {
        command = "/bin/sh"
        args    = ["${NOMAD_TASK_DIR}/run.sh"]
        image   = local.is_container ? var.image : null
      }

      dynamic "volume_mount" {
        for_each = local.on_host ? [] : ["/data"]
        content {
          volume      = "files"
          destination = volume_mount.value
        }
      }

      env {
        DETENT_PROGRAMS = var.programs
        DETENT_USER     = var.user
        DETENT_FILES    = local.files
        DETENT_MINUTES  = var.backup_hours * 60
        DETENT_KEPT     = max(1, var.backups)
        DETENT_PASSWORD = "" # it needs none
      }

      template {
        destination     = "local/run.sh"
        left_delimiter  = "\u0001"
        right_delimiter = "\u0002"
        data            = <<-EOT
        ${local.account}
        trap exit INT TERM
        mkdir -p backups
        cd backups
        copies() { find . -maxdepth 1 -name 'detent-????????T??????Z.dump' "$@"; }
        while :; do
          minutes=$DETENT_MINUTES
          [ "$(copies | wc -l)" -gt 1 ] || minutes=60 # the first one is of an empty database
          if [ -z "$(copies -mmin "-$minutes")" ]; then
            until pg_isready --quiet --host="$DETENT_FILES" --port="$NOMAD_PORT_db"; do sleep 1; done
            name=detent-$(date -u +%Y%m%dT%H%M%SZ).dump
            rm -f .new
            if pg_dump --host="$DETENT_FILES" --port="$NOMAD_PORT_db" --format=custom --file=.new detent; then
              mv .new "$name"
              echo "det-postgres: backups/$name, $(wc -c <"$name") bytes"
              copies | sort -r | tail -n "+$((DETENT_KEPT + 1))" | xargs -r rm -f --
            else
              rm -f .new
              echo "det-postgres: no copy of the database was made; tried again in a minute" >&2
            fi
          fi
          sleep 60 & wait
        done
        EOT
      }

      resources {
        cpu    = 100
        memory = 256
      }
    }
  }
}
