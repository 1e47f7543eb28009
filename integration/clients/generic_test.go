package clients

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

// taskUser is a user who works with generic tasks through Determined's own client.
type taskUser struct {
	rig.Person
	t *testing.T
	r *rig.Rig
}

// created reads the id of a task from the client's output.
func (f taskUser) created(out string) string {
	f.t.Helper()
	m := regexp.MustCompile(`Created task ([0-9a-f-]{36})`).FindStringSubmatch(out)
	if m == nil {
		f.t.Fatalf("no task was created:\n%s", out)
	}
	return m[1]
}

func (f taskUser) become(id string, want v1.GenericTaskState) *v1.Task {
	f.t.Helper()
	var task *v1.Task
	rig.Eventually(f.t, fmt.Sprintf("task %s is %s", id, want), func() (ok bool, err error) {
		if task, err = f.r.Client.Task(f.t.Context(), id); err != nil || task.TaskState == nil {
			return false, err
		}
		return *task.TaskState == want, fmt.Errorf("the task is %s", *task.TaskState)
	})
	return task
}

// says waits for a line in the log of a task.
func (f taskUser) says(id, line string) {
	f.t.Helper()
	rig.Eventually(f.t, fmt.Sprintf("task %s prints %q", id, line), func() (bool, error) {
		out := f.Det(f.t, "task", "logs", id)
		return strings.Contains(out, line), fmt.Errorf("the task's log: %s", out)
	})
}

// refused runs a command of the client that must fail with these words.
func (f taskUser) refused(words string, args ...string) {
	f.t.Helper()
	stdout, stderr, code := f.Run(f.t, "", f.Client(), args...)
	if code == 0 || !strings.Contains(stdout+stderr, words) {
		f.t.Errorf("Determined's det %s: exit %d, and not %q:\n%s%s", strings.Join(args, " "), code, words, stdout, stderr)
	}
}

// treeScript starts a task below its own with the det that every task has, and waits.
const treeScript = `
set -e
echo "attempt $DET_ALLOCATION_ID is a $DET_TASK_TYPE with $(cat greeting.txt)"
case "$DET_ALLOCATION_ID" in *.1) det task create child.yaml --parent "$DET_TASK_ID" --inherit_context;; esac
exec sleep 1000
`

const childConfig = "entrypoint: [\"echo child $DET_ALLOCATION_ID has $(cat greeting.txt); exec sleep 1000\"]\nresources: {slots: 0}\n"

// TestGenericTasks: with Determined's own client a task starts, is forked, and fails; a tree of
// tasks is paused and resumed on Nomad, and killed from its leaf.
func TestGenericTasks(t *testing.T) {
	r := rig.Start(t)
	f := taskUser{Person: r.Person(t, "determined", ""), t: t, r: r}
	code := f.Home + "/code"
	rig.Write(t, code, "tree.sh", treeScript)
	rig.Write(t, code, "greeting.txt", "the code of the root")
	rig.Write(t, code, "child.yaml", childConfig)
	short := rig.Write(t, f.Home, "short.yaml", "entrypoint: [\"echo one word, $WORD; exit $CODE\"]\nresources: {slots: 0}\nenvironment: {environment_variables: [WORD=two, CODE=0]}\n")
	tree := rig.Write(t, f.Home, "tree.yaml", "entrypoint: [sh, tree.sh]\nresources: {slots: 1}\n")

	first := f.created(f.Det(t, "task", "create", short, "--follow"))
	if task := f.become(first, v1.GenericTaskStateCompleted); task.TaskType != v1.TaskTypeGeneric || len(task.Allocations) != 1 {
		t.Errorf("the task is %+v", task)
	}
	f.says(first, "one word, two")
	fork := f.created(f.Det(t, "task", "create", rig.Write(t, f.Home, "fork.yaml", "environment: {environment_variables: [WORD=three, CODE=3]}\n"), "--fork", first))
	f.become(fork, v1.GenericTaskStateError)
	f.says(fork, "one word, three")
	rig.Holds(t, "the fork's configuration", f.Det(t, "task", "config", fork), "WORD=three", "echo one word", "slots: 0")
	f.become(f.created(f.Det(t, "task", "fork", first)), v1.GenericTaskStateCompleted)
	f.refused("cannot pause task "+first+" as it is in state 'COMPLETED'", "task", "pause", first)

	root := f.created(f.Det(t, "task", "create", tree, "--context", code))
	f.says(root, "attempt "+root+".1 is a GENERIC with the code of the root")
	f.says(root, "Created task ")
	child := f.created(f.Det(t, "task", "logs", root))
	f.says(child, "child "+child+".1 has the code of the root")
	if task := f.become(child, v1.GenericTaskStateActive); task.ParentID == nil || *task.ParentID != root {
		t.Errorf("the parent of the child is %v", task.ParentID)
	}
	if tasks, err := r.Client.Tasks(t.Context()); err != nil || tasks[root+".1"].SlotsNeeded != 1 || len(tasks[root+".1"].Resources) != 1 {
		t.Errorf("the root holds %+v, %v", tasks[root+".1"], err)
	}
	rig.Holds(t, "pause", f.Det(t, "task", "pause", root), "Paused task: "+root)
	f.become(root, v1.GenericTaskStatePaused)
	f.become(child, v1.GenericTaskStatePaused)
	tasks, err := r.Client.Tasks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id := range tasks {
		if strings.HasPrefix(id, root) || strings.HasPrefix(id, child) {
			t.Errorf("%s holds slots while its task is paused", id)
		}
	}
	f.refused("cannot pause task "+root, "task", "pause", root)
	rig.Holds(t, "unpause", f.Det(t, "task", "unpause", root), "Unpaused task: "+root)
	f.says(root, "attempt "+root+".2 is a GENERIC")
	f.says(child, "child "+child+".2 has")
	rig.Holds(t, "kill", f.Det(t, "task", "kill", child, "--root"), child)
	f.become(root, v1.GenericTaskStateCanceled)
	f.become(child, v1.GenericTaskStateCanceled)
}
