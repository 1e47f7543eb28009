package control

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
)

// withRoom gives the bench's nodes processors and memory.
func (b *bench) withRoom() {
	for i := range b.nomad.nodes {
		n := &b.nomad.nodes[i]
		n.Cores, n.FreeCores, n.MHz, n.FreeMHz, n.MemoryMB, n.FreeMemoryMB = 8, 8, 16000, 16000, 10000, 10000
	}
}

func (b *bench) why(experiment int) string {
	return b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(experiment))
}

// TestMemoryIsCounted: of two trials that each ask for 60 % of a node's memory, the second waits until the first has ended. A trial that asks
// for nothing has what its slot brings. The rows of members have what the scheduler has counted, and the job asks for it.
func TestMemoryIsCounted(t *testing.T) {
	b := newBench(t, "n1")
	b.withRoom()
	b.term.cfg.Pools[0].Slots.PerNode = 4
	asked := map[string][]task.Placed{}
	made := b.term.cfg.Task
	b.term.cfg.Task = func(a task.Attempt, members []task.Placed, of *pool.Pool) (task.Job, error) {
		asked[a.ID] = members
		return made(a, members, of)
	}
	const much = "resources: {memory: 6000MiB, cpus: 2}"
	first, second := b.experiment(much), b.experiment(much)
	b.settle()
	b.claim(b.newest(first))
	b.settle()
	if why := b.why(second); why != "needs 1 slot; node n1 has 3 slots free, but 4000 MiB of memory; the task needs 6000 MiB" {
		t.Errorf("the second waits: %s", why)
	}
	has := func(attempt string) string {
		return b.text(`SELECT mhz || '/' || memory_mb FROM members WHERE allocation_id = $1`, attempt)
	}
	if got, job := has(b.newest(first)), asked[b.newest(first)]; got != "4000/6000" || len(job) != 1 || job[0].Uses.MHz != 4000 || job[0].Uses.MemoryMB != 6000 {
		t.Errorf("the first has %s, and its job %+v", got, job)
	}
	third := b.experiment("") // behind the second, whose memory it leaves free
	b.settle()
	if got := has(b.newest(third)); got != "100/1024" {
		t.Errorf("the third has %s and waits: %s", got, b.why(third))
	}
	b.exit(b.newest(first), 0)
	b.settle()
	if got := has(b.newest(second)); got != "4000/6000" {
		t.Errorf("the second has %s and waits: %s", got, b.why(second))
	}
}

// TestTasksWithoutSlotsLeaveRoom: a task of no slots that asks for more than there is waits, and no request behind it takes its memory.
func TestTasksWithoutSlotsLeaveRoom(t *testing.T) {
	b := newBench(t, "n1")
	b.withRoom()
	first := b.experiment("resources: {memory: 6000MiB}")
	b.settle()
	b.claim(b.newest(first))
	notebook := func(id, resources string) {
		b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots)
			SELECT $1, 'NOTEBOOK', gen_random_uuid(), u.id, 1, 'x', $2::jsonb, 'default', 0 FROM users u WHERE username = 'determined'`, id, `{"resources": `+resources+`}`)
		b.settle()
	}
	notebook("large", `{"memory": 7340032000}`) // 7000 MiB
	notebook("usual", `{}`)
	second := b.experiment("resources: {memory: 3500MiB}")
	b.settle()
	if got := b.text(`SELECT coalesce(string_agg(k.id || ' ' || m.memory_mb, ', '), '') FROM members m JOIN allocations a ON a.id = m.allocation_id JOIN tasks k ON k.id = a.task_id WHERE k.type = 'NOTEBOOK'`); got != "usual 1024" {
		t.Errorf("notebooks that run: %s", got)
	}
	if why := b.text(`SELECT waiting_reason FROM allocations WHERE task_id = 'large'`); !strings.HasPrefix(why, "node n1 of pool default has the most room, but 4000 MiB of memory; the task needs 7000 MiB") {
		t.Errorf("the large one waits: %s", why)
	}
	if why := b.why(second); !strings.HasPrefix(why, "waits behind large (priority 42)") {
		t.Errorf("the second trial waits: %s", why)
	}
}

// TestNodesThatAreTooSmall: a task that asks for more than any node has waits for ever, and says so; one as large as a node starts.
func TestNodesThatAreTooSmall(t *testing.T) {
	b := newBench(t, "n1")
	b.withRoom()
	many, fits := b.experiment("resources: {cpus: 8.5}"), b.experiment("resources: {cpus: 8, memory: 10000MiB}")
	b.settle()
	if why := b.why(many); why != "needs 1 slot; node n1 has 2 slots for tasks, but 8 processors; the task needs 8.5 processors" {
		t.Errorf("it waits: %s", why)
	}
	if state := b.text(`SELECT state FROM allocations WHERE id = $1`, b.newest(fits)); state == "PENDING" {
		t.Errorf("a trial as large as the node waits: %s", b.why(fits))
	}
}

// TestPoolsCountTogether: what attempts of one pool hold of a node is not there for those of another.
func TestPoolsCountTogether(t *testing.T) {
	b := newBench(t, "n1")
	b.withRoom()
	other := b.term.cfg.Pools[0]
	other.Name = "other"
	b.term.cfg.Pools = append(b.term.cfg.Pools, other)
	first := b.experiment("resources: {memory: 6000MiB}")
	b.settle()
	second := b.experiment("resources: {memory: 6000MiB}")
	b.exec(`UPDATE experiments SET pool = 'other' WHERE id = $1`, second)
	b.settle()
	if why := b.why(second); !strings.Contains(why, "but 4000 MiB of memory; the task needs 6000 MiB") {
		t.Errorf("it waits: %s", why)
	}
	b.claim(b.newest(first))
	b.settle()
	b.exit(b.newest(first), 0)
	b.settle()
	if state := b.text(`SELECT state FROM allocations WHERE id = $1`, b.newest(second)); state == "PENDING" {
		t.Errorf("it waits: %s", b.why(second))
	}
}

// TestQuotasOfMemory: nothing starts over a quota of memory, also no task without slots.
func TestQuotasOfMemory(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.withRoom()
	b.exec(`INSERT INTO quotas (user_id, measure, period, hard) SELECT id, 'memory', '', 12 FROM users WHERE username = 'determined'`)
	b.exec(`INSERT INTO quotas (user_id, measure, period, hard) SELECT id, 'cpus', '', 6 FROM users WHERE username = 'determined'`)
	first := b.experiment("resources: {memory: 6GiB, cpus: 2}")
	second, third, fourth := b.experiment("resources: {memory: 7GiB}"), b.experiment("resources: {memory: 2GiB, cpus: 4.5}"), b.experiment("resources: {memory: 2GiB, cpus: 4}")
	b.settle()
	for e, want := range map[int]string{
		second: "needs 7 GiB of memory; user determined holds 8 of the 12 GiB of memory of its quota in all pools, and administrators of the cluster can raise it",
		third:  "needs 4.5 processors; user determined holds 6 of the 6 processors of its quota in all pools, and administrators of the cluster can raise it", fourth: ""} {
		if why := b.why(e); why != want {
			t.Errorf("experiment %d waits: %q, want %q", e, why, want)
		}
	}
	if n := b.int(`SELECT count(*) FROM members`); n != 2 {
		t.Errorf("%d attempts run: %s, %s", n, b.why(first), b.why(fourth))
	}
}
