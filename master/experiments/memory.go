package experiments

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/search/budget"
)

// The memory that searches of experiments need in the leading master (experiments.memory),
// and whether the budget has room for more. Two simultaneous requests of one owner may both
// be admitted and exceed the owner's part: then the leader sets the owner's newest
// experiment aside (control/folds.go).

// holding is true for experiments whose search a leader needs in memory, now or when they
// are activated.
const holding = `((state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED') OR continues > continued) AND desired <> 'deleted' AND NOT unmanaged)`

// A Memory decides whether the searches of all experiments have room for one more. A nil Memory has no limit.
type Memory struct {
	budget budget.Budget
	sums   memorySums
}

// NewMemory returns the memory of a master, which all verbs that make a search larger share.
func NewMemory(b budget.Budget) *Memory { return &Memory{budget: b} }

// admit returns an error if an owner may not use `more` further bytes. The memory of the
// experiment `except` does not count (0: none).
func (m *Memory) admit(ctx context.Context, db *database.DB, owner, except int, more int64) error {
	if m == nil || m.budget.Bytes <= 0 || more <= 0 {
		return nil
	}
	if m.sums.admit(m.budget, owner, more) {
		return nil
	}
	at := time.Now()
	owners, err := database.Map[int, int64](ctx, db, `SELECT owner_id, sum(memory)::bigint FROM experiments WHERE `+holding+` AND id <> $1 GROUP BY owner_id`, except)
	if err != nil {
		return err
	}
	return m.sums.replace(m.budget, owners, at, owner, more)
}

// memorySums are the bytes of each owner, as the database had them a moment ago, with what this
// master has admitted since. To add them up takes some 10 ms at 10,000 experiments, too long for
// each request. What they admit may exceed the budget by what other masters admit in that moment;
// a request is only rejected after the database was read.
type memorySums struct {
	mu       sync.Mutex
	at       time.Time
	owners   map[int]int64
	admitted []admission // in the last moments; the database may not have them yet
}

type admission struct {
	at    time.Time
	owner int
	bytes int64
}

// sumsAge is how long the sums are used.
const sumsAge = time.Second

// admit reports whether the sums have room for more bytes of an owner, and then includes them.
func (s *memorySums) admit(b budget.Budget, owner int, more int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > sumsAge || b.Admit(useOf(s.owners, owner), more) != nil {
		return false
	}
	s.add(owner, more)
	return true
}

func (s *memorySums) add(owner int, more int64) {
	s.owners[owner] += more
	s.admitted = append(s.admitted, admission{time.Now(), owner, more})
}

// replace stores sums that were read from the database, and admits more bytes of an owner or returns
// an error.
func (s *memorySums) replace(b budget.Budget, owners map[int]int64, at time.Time, owner int, more int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.Admit(useOf(owners, owner), more); err != nil {
		return err
	}
	if at.After(s.at) {
		s.at, s.owners = at, owners
		s.admitted = slices.DeleteFunc(s.admitted, func(x admission) bool { return at.Sub(x.at) > sumsAge })
		for _, x := range s.admitted { // those that the database has count twice for a moment
			s.owners[x.owner] += x.bytes
		}
	}
	s.add(owner, more)
	return nil
}

// useOf is the use of all owners when one of them needs more.
func useOf(owners map[int]int64, owner int) budget.Use {
	u := budget.Use{Owner: owners[owner], Owners: len(owners)}
	if _, there := owners[owner]; !there {
		u.Owners++
	}
	for _, bytes := range owners {
		u.All += bytes
	}
	return u
}

// Grow increases an experiment's memory, if the budget has room.
func (m *Memory) Grow(ctx context.Context, db *database.DB, experiment int, more int64) error {
	if more <= 0 {
		return nil
	}
	owner, err := database.Scalar[int](ctx, db, `SELECT owner_id FROM experiments WHERE id = $1`, experiment)
	if err != nil {
		return err
	}
	if err := m.admit(ctx, db, owner, 0, more); err != nil {
		return err
	}
	return db.Exec(ctx, `UPDATE experiments SET memory = memory + $2 WHERE id = $1`, experiment, more)
}

// NoRoom returns the experiments that cannot be activated, with the reason: the running
// experiments of their owner use the owner's whole part of the budget. This happens to
// experiments of a release without a budget, or after the budget was reduced.
func (m *Memory) NoRoom(ctx context.Context, db *database.DB, ids []int) (map[int]error, error) {
	if m == nil || m.budget.Bytes <= 0 || len(ids) == 0 {
		return nil, nil
	}
	type holder struct {
		ID      int   `db:"id"`
		Owner   int   `db:"owner_id"`
		Memory  int64 `db:"memory"`
		Running bool  `db:"running"`
	}
	list, err := database.Rows[holder](ctx, db, `
		SELECT id, owner_id, memory, desired = 'active' OR state = 'ACTIVE' AS running FROM experiments WHERE `+holding+`
			AND (desired = 'active' OR state = 'ACTIVE' OR id = ANY($1)) ORDER BY id`, ids)
	if err != nil {
		return nil, err
	}
	asked := each.Set(ids, func(id int) int { return id })
	owners, all := map[int]int64{}, int64(0)
	for _, h := range list {
		if h.Running {
			owners[h.Owner] += h.Memory
			all += h.Memory
		}
	}
	out := map[int]error{}
	for _, h := range list {
		if h.Running || !asked[h.ID] {
			continue
		}
		held := owners[h.Owner]
		owners[h.Owner] = held // also an owner who holds nothing
		if err := m.budget.Admit(budget.Use{Owner: held, All: all, Owners: len(owners)}, h.Memory); err != nil {
			out[h.ID] = err
			continue
		}
		owners[h.Owner] += h.Memory
		all += h.Memory
	}
	return out, nil
}
