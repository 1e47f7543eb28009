#!/bin/sh
# Makes a Vault ready for Detent: tasks get credentials for S3 that reach only their own experiment's
# checkpoints, with the identity that Nomad gives to each of them, and may read the secrets that sign in to
# Google Cloud Storage or Azure. Running it again changes nothing but what its settings say.
#
#   export VAULT_ADDR=https://vault.example:8200 VAULT_TOKEN=…          # who may administer it
#   export DETENT_JWKS_URL=https://nomad.example:4646/.well-known/jwks.json
#   export DETENT_ROLE_ARN=arn:aws:iam::123456789012:role/det-checkpoints
#   export DETENT_BUCKETS="checkpoints"
#   sh setup.sh
#
# It needs the vault command. Settings, all in the environment:
#
#   DETENT_JWKS_URL        where Vault finds the keys of Nomad's workload identities
#   DETENT_JWKS_CA         file with the certificate authority of that address, if it is a private one
#   DETENT_ROLE_ARN        the role whose sessions the credentials are, each narrowed to a prefix
#   DETENT_BUCKETS         buckets that the master may read, for downloads; separated by blanks
#   DETENT_GCS_SECRET, DETENT_AZURE_SECRET
#                          secrets of the kv engine, version 2, that all tasks with checkpoints there and the
#                          master may read, such as secret/data/detent/gcs; with one of them, DETENT_ROLE_ARN
#                          and DETENT_BUCKETS may be left out where there are no checkpoints in S3
#   DETENT_USER_SECRETS    secrets of the kv engine, version 2, that users may mount in tasks, separated by
#                          blanks, such as "secret/data/teams/*": Nomad may read them for tasks, and the master
#                          may list their keys, but not read them. With it, DETENT_ROLE_ARN and DETENT_BUCKETS
#                          may be left out too
#   DETENT_NAMESPACES      Nomad namespaces of tasks, separated by blanks (default)
#   DETENT_MASTER_JOB      name of the master's job (det-master)
#   DETENT_MASTER_NAMESPACE
#                          Nomad namespace of the master's job (the first one of DETENT_NAMESPACES)
#   DETENT_REGION          for a region of Nomad besides the master's own: its name. The script then makes only
#                          the JWT method, the policy and the role of its tasks, so run it without this first
#   DETENT_AUTH_PATH       path of the JWT method (jwt-nomad, or jwt-nomad-REGION)
#   DETENT_AWS_PATH        path of the AWS secrets engine (aws)
#   DETENT_TTL             life of the master's own credentials, at least 15m (1h)
#   DETENT_AWS_ACCESS_KEY, DETENT_AWS_SECRET_KEY, DETENT_AWS_REGION, DETENT_STS_ENDPOINT
#                          with which Vault itself signs in to AWS, or to another store that has STS;
#                          without a key the engine's configuration is left as it is
#                          (docs/operate/upgrade.md)
#   DETENT_REMOVE_ENTITIES set to true, the master may remove the entities of jobs that are over
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

need() {
  eval "value=\${$1:-}"
  if [ -z "$value" ]; then
    echo "setup.sh: $1 is not set; it is explained at the top of $0" >&2
    exit 2
  fi
}
need VAULT_ADDR
need DETENT_JWKS_URL
secrets="${DETENT_GCS_SECRET:-} ${DETENT_AZURE_SECRET:-}"
mounted=${DETENT_USER_SECRETS:-}
if [ "$secrets$mounted" = " " ] || [ -n "${DETENT_ROLE_ARN:-}${DETENT_BUCKETS:-}" ]; then
  need DETENT_ROLE_ARN
  need DETENT_BUCKETS
fi
arn=${DETENT_ROLE_ARN:-}
region=${DETENT_REGION:-}
suffix=${region:+-$region}
auth=${DETENT_AUTH_PATH:-jwt-nomad$suffix}
aws=${DETENT_AWS_PATH:-aws}
master=${DETENT_MASTER_JOB:-det-master}
ttl=${DETENT_TTL:-1h}

# words writes its arguments as a list in JSON, each between a prefix and a suffix.
words() {
  prefix=$1 suffix=$2 list=
  shift 2
  for word in "$@"; do list="${list:+$list,}\"$prefix$word$suffix\""; done
  printf '[%s]' "$list"
}
# shellcheck disable=SC2086
namespaces=$(words "" "" ${DETENT_NAMESPACES:-default})
# shellcheck disable=SC2086
set -- ${DETENT_NAMESPACES:-default}
home=${DETENT_MASTER_NAMESPACE:-$1}
# shellcheck disable=SC2086
objects=$(words "arn:aws:s3:::" "/*" ${DETENT_BUCKETS:-})
# shellcheck disable=SC2086
buckets=$(words "arn:aws:s3:::" "" ${DETENT_BUCKETS:-})

echo "JWT method at $auth, for workload identities of Nomad"
vault auth list -format=json | grep -q "\"$auth/\"" || vault auth enable -path="$auth" jwt
if [ -n "${DETENT_JWKS_CA:-}" ]; then
  vault write "auth/$auth/config" jwks_url="$DETENT_JWKS_URL" jwks_ca_pem=@"$DETENT_JWKS_CA" jwt_supported_algs=RS256,EdDSA
else
  vault write "auth/$auth/config" jwks_url="$DETENT_JWKS_URL" jwt_supported_algs=RS256,EdDSA
fi
accessor=$(vault read -field=accessor "sys/auth/$auth")

if [ -n "$arn" ] && [ -z "$region" ]; then
  echo "AWS secrets engine at $aws"
  vault secrets list -format=json | grep -q "\"$aws/\"" || vault secrets enable -path="$aws" aws
  if [ -n "${DETENT_AWS_ACCESS_KEY:-}" ]; then
    need DETENT_AWS_SECRET_KEY
    # Through its standard input: the arguments of a command can be read by everybody on the machine.
    vault write "$aws/config/root" - <<EOT
{"access_key": "$DETENT_AWS_ACCESS_KEY", "secret_key": "$DETENT_AWS_SECRET_KEY",
 "region": "${DETENT_AWS_REGION:-us-east-1}",
 "sts_endpoint": "${DETENT_STS_ENDPOINT:-}", "iam_endpoint": "${DETENT_STS_ENDPOINT:-}"}
EOT
  fi
  vault write "$aws/roles/detent-reader" credential_type=assumed_role role_arns="$arn" \
    default_sts_ttl="$ttl" max_sts_ttl="$ttl" policy_document=- <<EOT
{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"], "Resource": $objects},
  {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": $buckets}]}
EOT
fi

echo "policies"
entities=
if [ "${DETENT_REMOVE_ENTITIES:-}" = true ]; then entities=$here/det-master-entities.policy.hcl; fi
# policy reads a policy and puts in what only this Vault knows.
policy() {
  sed -e "/^# @ENTITIES@\$/{" ${entities:+-e "r $entities"} -e "d" -e "}" "$here/$1" |
    sed -e "s|@AWS_PATH@|$aws|g" -e "s|@ACCESSOR@|$accessor|g" -e "s|@ROLE_ARN@|$arn|g" \
      -e "s|@REGION@|${region:+@$region}|g"
  for secret in $secrets; do printf '\npath "%s" {\n  capabilities = ["read"]\n}\n' "$secret"; done
}
# may writes rules for the secrets that users mount. Their names may contain *, which the shell must keep.
may() {
  set -f
  for secret in $mounted; do
    printf '\npath "%s" {\n  capabilities = ["read"]\n}\n' "$(printf %s "$secret" | sed "s|/data/|/$1/|")"
  done
  set +f
}
{ policy det-task.policy.hcl && may data; } | vault policy write "det-task$suffix" -
if [ -z "$region" ]; then { policy det-master.policy.hcl && may subkeys; } | vault policy write det-master -; fi

echo "roles of the JWT method"
# A task may use the one role that is named like its job and namespace. Vault knows it by its allocation in
# Nomad and not by its job: two jobs of one name in two namespaces would be one entity, with the claims of
# the one that signed in last.
vault write "auth/$auth/role/det-task" - <<EOT
{"role_type": "jwt", "bound_audiences": ["vault.io"],
 "bound_claims": {"nomad_namespace": $namespaces, "nomad_task": "main"},
 "user_claim": "/nomad_allocation_id", "user_claim_json_pointer": true,
 "claim_mappings": {"nomad_job_id": "nomad_job_id", "nomad_namespace": "nomad_namespace", "nomad_task": "nomad_task"},
 "token_type": "service", "token_policies": ["det-task$suffix"], "token_period": "30m", "token_explicit_max_ttl": 0}
EOT
if [ -z "$region" ]; then
  vault write "auth/$auth/role/det-master" - <<EOT
{"role_type": "jwt", "bound_audiences": ["vault.io"],
 "bound_claims": {"nomad_namespace": "$home", "nomad_job_id": "$master", "nomad_task": "master"},
 "user_claim": "/nomad_job_id", "user_claim_json_pointer": true,
 "token_type": "service", "token_policies": ["det-master"], "token_period": "1h", "token_explicit_max_ttl": 0}
EOT
fi
echo "ready"
