# Made from nomad/postgres.nomad.hcl by go test ./nomad/pack -rewrite; change it there.

variable "job" {
  type        = string
  default     = "det-postgres"
  description = "Name of the job, of its service, and of the Nomad variable with its password (nomad/jobs/<job>)."
}

variable "namespace" {
  type    = string
  default = "default"
}

variable "region" {
  type    = string
  default = "global"
}

variable "datacenters" {
  type    = list(string)
  default = ["*"]
}

variable "node_pool" {
  type    = string
  default = "default"
}

variable "node" {
  type        = string
  default     = ""
  description = "Name of the node to run on; empty for any node that has the volume. Without a volume (raw_exec) it must be named."
}

variable "driver" {
  type        = string
  default     = "docker"
  description = "docker or podman with an image; exec or raw_exec with PostgreSQL's programs on the node."
}

variable "image" {
  type        = string
  default     = "docker.io/library/postgres:17-bookworm"
  description = "Image with PostgreSQL's programs and setpriv (docker and podman)."
}

variable "programs" {
  type        = string
  default     = ""
  description = "Folder of PostgreSQL's programs, such as /usr/lib/postgresql/17/bin; empty if they are on the PATH."
}

variable "user" {
  type        = string
  default     = "postgres"
  description = "Account that PostgreSQL runs as."
}

variable "volume" {
  type        = string
  default     = "det-postgres"
  description = "Nomad volume for the files."
}

variable "volume_type" {
  type        = string
  default     = "host"
  description = "host, or csi for a volume that can follow the job to another node."
}

variable "folder" {
  type        = string
  default     = "/srv/det-postgres"
  description = "Folder of the node for the files, in the place of the volume (raw_exec alone)."
}

variable "port" {
  type    = number
  default = 5432
}

variable "service_provider" {
  type        = string
  default     = "nomad"
  description = "nomad, or consul."
}

variable "backup_hours" {
  type        = number
  default     = 24
  description = "Hours between two copies of the database, in the folder backups of the volume."
}

variable "backups" {
  type        = number
  default     = 7
  description = "Number of copies that are kept."
}

variable "cpu" {
  type    = number
  default = 500
}

variable "memory" {
  type        = number
  default     = 1024
  description = "MB; PostgreSQL keeps pages of its tables in a quarter of it."
}
