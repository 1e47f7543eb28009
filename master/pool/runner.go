package pool

// RunnerMeta is the attribute of a node with the path of a det-runner that it has, so that its tasks need not fetch one.
const RunnerMeta = "meta.detent.runner"

// RunnerName is the name of that file, which says which runner it is. After an upgrade of the masters, nodes that have only
// the earlier one fetch the new one.
func RunnerName(sha256 string) string { return "det-runner-" + sha256 }
