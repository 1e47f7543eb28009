package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/proc"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// ownConfig is the configuration of masters whose tasks run in a separate node pool, so that no dead
// node runs a master. A node without Nomad ends its tasks soon, but must do so later than the
// heartbeats of ownNomad.
const ownConfig = `
cluster_name: faults
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - {name: default, node_pool: tasks, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 64, scheduler: {type: priority, preemption: true},
     task_container_defaults: {preemption: {grace: 50s}}}
  - {name: small, node_pool: small, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 64}
stop_after: 12s
log_sinks: [{name: collector, address: %s/v1/logs}]
`

// ownNomad makes Nomad declare a dead node lost within seconds.
const ownNomad = `
server {
  min_heartbeat_ttl = "2s"
  heartbeat_grace   = "3s"
}
`

// TestFaultsOnAClusterOfItsOwn has faults that would break other tests of a shared cluster. Its cluster
// has two masters, access control, and a Nomad that declares nodes lost early.
func TestFaultsOnAClusterOfItsOwn(t *testing.T) {
	turn.Second(t)
	t.Parallel()
	elsewhere := newCollector(t)
	r := startOwn(t, elsewhere)
	for _, name := range []string{"a", "b"} {
		if err := r.AddClient(t.Context(), local.Client{Name: name, Pool: "tasks"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("leader is killed", func(t *testing.T) { leaderIsKilled(t, r) })
	t.Run("lines elsewhere", func(t *testing.T) { linesElsewhere(t, r, elsewhere) })
	t.Run("leader sleeps", func(t *testing.T) { leaderSleeps(t, r) })
	t.Run("node is dead for a minute", func(t *testing.T) { nodeIsDead(t, r) })
	t.Run("node is drained", func(t *testing.T) { nodeIsDrained(t, r) })
	t.Run("every departure", func(t *testing.T) { everyDeparture(t, r) })
	t.Run("cloud takes a machine", func(t *testing.T) { cloudTakesAMachine(t, r) })
	t.Run("gang knows only signals", func(t *testing.T) { gangKnowsOnlySignals(t, r) })
	t.Run("token loses its rights", func(t *testing.T) { tokenLosesItsRights(t, r) })
	t.Run("Nomad is restored", func(t *testing.T) { nomadIsRestored(t, r) })
	t.Run("Nomad reads a snapshot", func(t *testing.T) { nomadReadsASnapshot(t, r) })
	t.Run("disk of a node is full", func(t *testing.T) { nodesDiskIsFull(t, r) })
	t.Run("disk of the database is full", func(t *testing.T) { databasesDiskIsFull(t, r) })
}

// startOwn starts the cluster, and removes it with the test.
func startOwn(t *testing.T, elsewhere *collector) *rig.Rig {
	t.Helper()
	r, dir := rig.NewOwn(t, "faults")
	// If that is not possible, the test is skipped.
	if _, err := smallDisk(filepath.Join(dir, "cluster", "postgres"), "400m"); err != nil {
		t.Fatal(err)
	}
	r.StartCluster(t, dir, local.Options{Name: "faults", ExtraNomad: ownNomad, Master: local.Master{Count: 2,
		// The database can tell which master writes. Nomad fills in the name.
		Env:    map[string]string{"PGOPTIONS": "-c faults.master=${NOMAD_ALLOC_ID}"},
		Config: fmt.Sprintf(ownConfig, filepath.Join(dir, "checkpoints"), elsewhere.URL)}})
	return r
}

// A leader is the leading master according to the database.
type leader struct {
	Holder, Address string
	Term            int64
}

const leaderRow = `SELECT holder, address, term FROM leader WHERE name = 'control'`

func currentLeader(t testing.TB, r *rig.Rig) leader {
	t.Helper()
	var l leader
	rig.Eventually(t, "a master leads", func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowToStructByPos[leader], leaderRow+` AND expires_at >= now()`)
		if err == nil && len(list) == 1 {
			l = list[0]
		}
		return len(list) == 1, err
	})
	return l
}

// successor waits for the term after a leader's, and logs how long that took.
func successor(t testing.TB, r *rig.Rig, of leader, since time.Time) leader {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var l leader
	rig.Eventually(t, fmt.Sprintf("a term after %d", of.Term), func() (bool, error) {
		err := conn.QueryRow(t.Context(), leaderRow).Scan(&l.Holder, &l.Address, &l.Term)
		return l.Term > of.Term, err
	})
	took := time.Since(since)
	t.Logf("term %d of %s after %s", l.Term, l.Address, took.Round(time.Millisecond))
	if took > 5*time.Second {
		t.Errorf("the next term began %s after the leader was gone; promised are 5 s", took)
	}
	if l.Term != of.Term+1 || l.Holder == of.Holder {
		t.Errorf("after term %d of %s the next is term %d of %s", of.Term, of.Holder, l.Term, l.Holder)
	}
	return l
}

// processOf finds the process of the master that listens at an address, and
// Nomad's allocation of it.
func processOf(t testing.TB, r *rig.Rig, address string) (id proc.ID, alloc string) {
	t.Helper()
	list, err := r.RunningPart(t, "master").Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range list {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", id.Pid))
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{}
		for kv := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		if "http://"+env["DETENT_LISTEN"] == address {
			return id, env["NOMAD_ALLOC_ID"]
		}
	}
	t.Fatalf("none of the masters %v listens at %s", list, address)
	return proc.ID{}, ""
}

// at returns a rig that uses one of the masters.
func at(t testing.TB, r *rig.Rig, address string) *rig.Rig {
	t.Helper()
	there := *r
	there.MasterURL = address
	var err error
	if there.Client, err = there.SignIn(t.Context(), "determined"); err != nil {
		t.Fatal(err)
	}
	return &there
}

// leaderIsKilled kills the leader several times. Each time another term begins within five seconds, and
// the training is not affected.
func leaderIsKilled(t *testing.T, r *rig.Rig) {
	k := r.Train(t, rig.TrainOptions{})
	for range 3 {
		l := currentLeader(t, r)
		id, _ := processOf(t, r, l.Address)
		since := time.Now()
		if err := id.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		successor(t, r, l, since)
		k.Advance(t, 2)
		r.Healthy(t)
		k.CheckAlone(t)
	}
	k.Finish(t)
	k.CheckWhole(t)
}

// audit makes the database record which master writes the columns that only a leader may write.
const audit = `
CREATE TABLE IF NOT EXISTS faults_audit (id bigint GENERATED ALWAYS AS IDENTITY, who text, what text);
CREATE OR REPLACE FUNCTION faults_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO faults_audit (who, what) VALUES (coalesce(current_setting('faults.master', true), ''), TG_TABLE_NAME || ' ' || TG_OP);
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER faults_note AFTER INSERT OR UPDATE OF state ON allocations FOR EACH ROW EXECUTE FUNCTION faults_note();
CREATE OR REPLACE TRIGGER faults_note AFTER INSERT OR UPDATE OF state ON trials FOR EACH ROW EXECUTE FUNCTION faults_note();
CREATE OR REPLACE TRIGGER faults_note AFTER UPDATE OF state ON experiments FOR EACH ROW EXECUTE FUNCTION faults_note();
CREATE OR REPLACE TRIGGER faults_note AFTER INSERT OR UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION faults_note();
CREATE OR REPLACE TRIGGER faults_note AFTER UPDATE OF nomad_status ON members FOR EACH ROW EXECUTE FUNCTION faults_note();`

// leaderSleeps stops the leader's process during its work, waits until another master leads, and
// resumes the process: the old leader must not write anything.
func leaderSleeps(t *testing.T, r *rig.Rig) {
	random := randomMoments(t)
	rig.Alter(t, r, audit)
	led := map[string]bool{}
	for range 3 {
		l := currentLeader(t, r)
		id, alloc := processOf(t, r, l.Address)
		led[alloc] = true
		other := other(t, r, l)
		early := other.SubmitTraining(t, rig.TrainOptions{}) // gives the leader something to do
		pause(t, time.Duration(random.IntN(60))*time.Millisecond)
		since := time.Now()
		if err := id.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = id.Signal(syscall.SIGCONT) })
		next := successor(t, other, l, since)
		late := other.Train(t, rig.TrainOptions{})
		mark := rig.Value[int64](t, r, `SELECT coalesce(max(id), 0) FROM faults_audit`)
		if err := id.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		resigned(t, r, l)
		// The new leader runs for a while beside the resumed one.
		early.Follow(t)
		for _, k := range []*rig.Training{early, late} {
			k.Finish(t)
			k.CheckWhole(t)
		}
		if wrote, err := rig.Query(t, r, pgx.RowTo[string], `SELECT what FROM faults_audit WHERE who = $1 AND id > $2`, alloc, mark); err != nil || len(wrote) > 0 {
			t.Errorf("the old leader wrote %v after it woke, %v", wrote, err)
		}
		if now := currentLeader(t, r); now != next {
			t.Errorf("%+v leads, want %+v", now, next)
		}
	}
	for alloc := range led {
		if n := rig.Value[int](t, r, `SELECT count(*) FROM faults_audit WHERE who = $1`, alloc); n == 0 {
			t.Errorf("nothing was noted of master %s, so nothing would have been", alloc)
		}
	}
}

// other returns a rig that uses a master that does not lead.
func other(t testing.TB, r *rig.Rig, l leader) *rig.Rig {
	t.Helper()
	for _, address := range r.Describe(t.Context()).MasterURLs {
		if address != l.Address {
			return at(t, r, address)
		}
	}
	t.Fatal("there is no other master")
	return nil
}

// resigned waits until the leader of a term has logged that it no longer leads.
func resigned(t testing.TB, r *rig.Rig, l leader) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("the leader of term %d says that it no longer leads", l.Term), func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT message FROM master_logs WHERE message LIKE 'this master no longer leads%' AND message LIKE '%term=' || $1`, fmt.Sprint(l.Term))
		return len(list) > 0, err
	})
}

// pause waits for a random moment, so that faults happen at different moments. No check depends on it.
func pause(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}
