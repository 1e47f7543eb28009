package clients

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// meeting is the program of a member: the members meet at the chief's address and port, which each has
// in its environment as trials have it, and the chief says who came.
const meeting = `
import json, os, socket, time
info = json.load(open(os.environ["DET_RUN_DIR"] + "/info/rendezvous.json"))
rank, size, key = info["container_rank"], len(info["container_addrs"]), os.environ["DET_COMM_KEY"]
slots = len(json.loads(os.environ["DET_SLOT_IDS"]))
chief = (os.environ["DET_CHIEF_IP"], int(os.environ["C10D_PORT"]))
assert chief[0] == info["container_addrs"][0] and info["container_slot_counts"][rank] == slots
me = "%d of %d on %s with %d slots" % (rank, size, os.environ["DET_AGENT_ID"], slots)
print("here is", me, flush=True)
if rank == 0:
    with socket.create_server(chief) as server:
        for _ in range(size - 1):
            met, _ = server.accept()
            word = met.makefile().readline().strip()
            assert word.startswith(key), "a stranger"
            print("met", word[len(key):], flush=True)
else:
    while True:
        try:
            with socket.create_connection(chief) as to:
                to.sendall((key + me + "\\n").encode())
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
`

// parting is the program of members of which the second fails while the first would run on.
const parting = `python3 -c 'import json, os; raise SystemExit(json.load(open(os.environ["DET_RUN_DIR"] + "/info/rendezvous.json"))["container_rank"] * 7)' || exit $?
echo the chief waits; sleep 1000`

// TestTasksOnSeveralNodes: a command and a generic task of more slots than a node has are members on two
// nodes that find each other; the status of a command is that of the member that failed, whose end ends
// the others. What Determined refuses is refused.
func TestTasksOnSeveralNodes(t *testing.T) {
	r := rig.Start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "second"); err != nil {
			t.Error(err)
		}
	}()
	code := t.TempDir()
	rig.Write(t, code, "meeting.py", meeting)
	rig.Write(t, code, "parting.sh", parting)
	run := func(args ...string) (string, error) {
		return r.Det(t, append([]string{"cmd", "run", "-c", code, "--config", "resources.slots=8"}, args...)...)
	}
	const several = "resources.is_single_node=false"

	out, err := run("--config", several, "python3", "meeting.py")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	met(t, "the command", out)

	out, err = run("--config", several, "sh", "parting.sh")
	if err == nil {
		t.Error("a command of which a member failed is a success")
	}
	rig.Holds(t, "a command whose second member fails", out, "ended with status 7")

	for words, args := range map[string][]string{
		"request unfulfillable, please try requesting less slots": {"cmd", "run", "--config", "resources.slots=8", "true"},
		"with resources.is_single_node: false a command may":      {"cmd", "run", "--config", "resources.slots=8", "true"},
		"please try requesting less slots: 8 slots":               {"notebook", "start", "--config", "resources.slots=8"},
		"a notebook is always on a single node":                   {"notebook", "start", "--config", "resources.slots=8", "--config", several},
		"a shell is always on a single node":                      {"shell", "start", "--config", "resources.slots=8", "--config", several},
	} {
		if out, err := r.Det(t, args...); err == nil || !strings.Contains(out, words) {
			t.Errorf("det %q: %v, and not %q:\n%s", args, err, words, out)
		}
	}

	f := forester{Person: r.Person(t, "determined", ""), t: t, r: r}
	rig.Write(t, f.Home+"/code", "meeting.py", meeting)
	id := f.created(f.Det(t, "task", "create", rig.Write(t, f.Home, "both.yaml", "entrypoint: [python3, meeting.py]\nresources: {slots: 8, is_single_node: false}\n"), "--context", f.Home+"/code", "--follow"))
	f.become(id, v1.GenericTaskStateCompleted)
	met(t, "the generic task", f.Det(t, "task", "logs", id))
}

// met tests the log of a meeting: members on two nodes, with four slots each, and the chief met the other.
func met(t *testing.T, what, log string) {
	t.Helper()
	said := regexp.MustCompile(`here is (\d) of 2 on (\S+) with 4 slots`).FindAllStringSubmatch(log, -1)
	if len(said) != 2 || said[0][1] == said[1][1] || said[0][2] == said[1][2] {
		t.Fatalf("%s does not have two members on two nodes:\n%s", what, log)
	}
	second := said[0]
	if second[1] == "0" {
		second = said[1]
	}
	rig.Holds(t, what, log, fmt.Sprintf("met 1 of 2 on %s with 4 slots", second[2]))
}
