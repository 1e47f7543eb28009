package main

import (
	"strings"

	"github.com/detent-ml/detent/integration/house/effects"
)

// untestedFlags is the number of flags of which no test sees that they have an effect. It may only shrink.
const untestedFlags = 17

// flagEffects has a row for each flag that TestFlagsHaveEffects does not find in a script or test.
var flagEffects = []effects.Row{
	{"*/--agent-id */--allocation-id */--container-id */--rank-id */--stdtype */--timestamp-after */--timestamp-before", "cli/internal/logs TestFlagsBecomeAQuery"},
	{up("db gpu-plugin-binary gpus harness initial-user-password master-binary master-config-path master-env master-port no-gpu python runner-binary slots storage-host-path vault"), "cli/deploy TestFlagsOfUp"},
	{up("acl auto-work-dir db-password det-version enterprise-edition gpu image-repo-prefix no-autorestart"), effects.NoEffect + "cli/deploy TestFlagsOfUp"},
	{up("pytorch"), "cli/deploy TestPyTorchIsInstalled"},
	{up("agents delete-db"), effects.Untested},
	{"deploy/local/cluster-down/--delete-db deploy/local/logs/--follow deploy/local/logs/--no-follow", effects.Untested},
	{"experiment/continue/--config-file", "integration/experiments TestContinueAndStartFrom"},
	{"experiment/create/--publish", "integration/clients TestPortsOfATrial"},
	{"experiment/list-trials/--sort trial/list/--sort", "cli/experiment TestOrderOfTrials"},
	{"experiment/set/log-retention/--days experiment/set/log-retention/--forever", "cli TestPlayedScripts"},
	{"job/update/--ahead-of job/update/--behind-of", "integration/experiments TestASearchContinuesAndQueues"},
	{"command/run/--publish experiment/plot/--log experiment/wait/--polling-interval master/logs/--follow preview-search/--curves preview-search/--seed " +
		"shell/start/--config-file shell/start/--show-ssh-command slot/disable/--drain task/create/--project-id tensorboard/start/--config-file webhook/deliveries/--limit", effects.Untested},
}

// up are flags of cluster-up.
func up(flags string) (names string) {
	for flag := range strings.FieldsSeq(flags) {
		names += " deploy/local/cluster-up/--" + flag
	}
	return names
}
