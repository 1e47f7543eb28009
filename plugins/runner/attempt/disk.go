//go:build linux

package attempt

import (
	"fmt"
	"syscall"
)

// leastSpace is the free space of a disk below which a program is taken to have failed because the disk is full.
const leastSpace = 1 << 20

const trialTask = "TRIAL" // the type of a trial's task

// blameDisk marks a failure as the node's if the disk of the task has no space left: the program, or a step before it, could
// not write, and may succeed elsewhere or later. This is for trials, which continue from a checkpoint: a command that ran is not
// run again.
func (r *run) blameDisk(end *ended) {
	if end.Code == 0 || end.Unfit || end.Preempted != "" || r.stop.asked() || r.spec.TaskType != trialTask {
		return
	}
	for _, folder := range []string{r.p.AllocDir, r.p.TaskDir} {
		var disk syscall.Statfs_t
		if syscall.Statfs(folder, &disk) != nil || disk.Blocks == 0 || disk.Bavail*uint64(disk.Bsize) >= leastSpace {
			continue
		}
		end.Unfit, end.Reason = true, fmt.Sprintf("the disk of %s has no space left (exit code %d)", folder, end.Code)
		r.journal.Errorf("%s; the trial is tried again, and this counts as no restart", end.Reason)
		return
	}
}
