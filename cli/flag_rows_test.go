package main

import (
	"strings"

	"github.com/detent-ml/detent/integration/house/effects"
)

// flagEffects has a row for each flag that TestFlagsHaveEffects does not find in a script or test.
var flagEffects = []effects.Row{
	{up("agents db gpu-plugin-binary gpus harness initial-user-password master-binary master-config-path master-env master-port no-consul no-gpu python runner-binary slots storage-host-path vault"), "cli/deploy TestFlagsOfUp"},
	{up("acl auto-work-dir db-password det-version enterprise-edition gpu image-repo-prefix no-autorestart"), effects.NoEffect + "cli/deploy TestFlagsOfUp"},
	{up("pytorch"), "cli/deploy TestPyTorchIsInstalled"},
	{up("consul mirror nomad servers"), "cli/deploy TestSupplyOfUp"},
	{up("delete-db") + " deploy/local/cluster-down/--delete-db", "cli/deploy TestDataIsRemovedOnRequest"},
	{"deploy/local/logs/--follow deploy/local/logs/--no-follow", "cli/deploy TestLogsAreFollowed"},
	{"experiment/branch/--project-id experiment/events/--after experiment/events/--limit", "cli/experiment TestOnAMaster"},
	{"experiment/continue/--config-file", "integration/experiments TestContinueAndStartFrom"},
	{"experiment/continue/--new-search", "cli/experiment TestOnAMaster"},
	{imported("tensorboard wandb") + " import/wandb/--external-id", "cli/imports TestWhereImportsGo"},
	{"experiment/create/--publish", "integration/clients TestPortsOfATrial"},
	{"experiment/set/log-retention/--days experiment/set/log-retention/--forever", "cli TestPlayedScripts"},
	{"job/update/--ahead-of job/update/--behind-of", "integration/experiments TestASearchContinuesAndQueues"},
	{"preview-search/--curves preview-search/--seed", "cli/preview TestSimulations"},
	{"preview-search/--pace", "cli/preview TestABudgetNeedsAPace"},
}

// up are flags of cluster-up.
func up(flags string) (names string) {
	for flag := range strings.FieldsSeq(flags) {
		names += " deploy/local/cluster-up/--" + flag
	}
	return names
}

// imported are the flags of verbs of det import.
func imported(verbs string) (names string) {
	for verb := range strings.FieldsSeq(verbs) {
		for flag := range strings.FieldsSeq("larger-is-better metric name project workspace") {
			names += " import/" + verb + "/--" + flag
		}
	}
	return names
}
