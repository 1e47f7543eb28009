package rows

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// MemberFact is Nomad's state of a member. PostgreSQL reads a list of facts as JSON.
type MemberFact struct {
	AllocationID string `json:"id"`
	Rank         int    `json:"rank"`
	NomadAllocID string `json:"alloc"`
	Status       string `json:"status"`
	Detail       string `json:"detail"`
	Index        int64  `json:"index"`
	Exit         *int   `json:"exit"`
	Over         bool   `json:"over"` // the Nomad allocation has ended
	Pulling      bool   `json:"pulling"`
	Started      bool   `json:"started"`
	Replaced     bool   `json:"replaced"`
}

// RecordFacts stores Nomad's state of members. If a fact is of another Nomad allocation than
// the first one of a member, it only marks the member as replaced.
//
// It waits for no member that somebody has locked, for example a claim: it returns the facts about those, which are to be
// stored later. All attempts' facts are one statement, and one of them must not hold up the others.
func RecordFacts(ctx context.Context, db *database.DB, facts []MemberFact) (left []MemberFact, err error) {
	if len(facts) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(facts)
	if err != nil {
		return nil, err
	}
	places, err := database.Scalars[int](ctx, db, `
		WITH f AS MATERIALIZED (SELECT * FROM ROWS FROM (jsonb_to_recordset($1) AS (id text, rank int, alloc text, status text, detail text, index bigint,
			exit int, over boolean, pulling boolean, started boolean, replaced boolean)) WITH ORDINALITY AS f (id, rank, alloc, status, detail, index, exit, over, pulling, started, replaced, place)),
		due AS (SELECT f.place FROM f JOIN members m ON m.allocation_id = f.id AND m.rank = f.rank AND f.index > m.nomad_index),
		free AS MATERIALIZED (SELECT f.place FROM f JOIN members m ON m.allocation_id = f.id AND m.rank = f.rank AND f.index > m.nomad_index
			ORDER BY m.allocation_id, m.rank FOR UPDATE OF m SKIP LOCKED),
		stored AS (UPDATE members m SET
			nomad_alloc_id = CASE WHEN m.nomad_alloc_id = '' THEN f.alloc ELSE m.nomad_alloc_id END,
			replaced = m.replaced OR f.replaced OR m.nomad_alloc_id NOT IN ('', f.alloc),
			nomad_status = CASE WHEN m.nomad_alloc_id IN ('', f.alloc) THEN f.status ELSE m.nomad_status END,
			nomad_detail = CASE WHEN m.nomad_alloc_id IN ('', f.alloc) THEN f.detail ELSE m.nomad_detail END,
			nomad_exit = CASE WHEN m.nomad_alloc_id IN ('', f.alloc) THEN f.exit ELSE m.nomad_exit END,
			nomad_ended_at = CASE WHEN m.nomad_alloc_id NOT IN ('', f.alloc) THEN m.nomad_ended_at
				WHEN f.over THEN coalesce(m.nomad_ended_at, now()) END,
			pulling = m.nomad_alloc_id IN ('', f.alloc) AND f.pulling,
			started = m.started OR m.nomad_alloc_id IN ('', f.alloc) AND f.started,
			started_at = CASE WHEN m.nomad_alloc_id IN ('', f.alloc) AND f.started THEN coalesce(m.started_at, now()) ELSE m.started_at END,
			nomad_index = greatest(m.nomad_index, f.index)
			FROM f JOIN free USING (place)
			WHERE m.allocation_id = f.id AND m.rank = f.rank AND f.index > m.nomad_index)
		SELECT place::int FROM due EXCEPT SELECT place::int FROM free ORDER BY place`, b)
	for _, place := range places {
		left = append(left, facts[place-1])
	}
	return left, err
}

// RecordGone stores that the Nomad jobs of these attempts no longer exist. What is locked follows with the next list of Nomad's jobs.
func RecordGone(ctx context.Context, db *database.DB, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return db.Exec(ctx, `UPDATE members m SET nomad_status = 'gone', nomad_ended_at = coalesce(nomad_ended_at, now())
		FROM (SELECT allocation_id, rank FROM members WHERE allocation_id = ANY($1) AND nomad_status <> 'gone' ORDER BY allocation_id, rank FOR UPDATE SKIP LOCKED) x
		WHERE (m.allocation_id, m.rank) = (x.allocation_id, x.rank)`, ids)
}

// RecordNodes stores the state of the nodes of a region of Nomad. It writes only the rows of nodes that
// changed, because it runs four times a minute. It leaves the columns that operators set, and deletes the rows of
// nodes that Nomad no longer has.
func RecordNodes(ctx context.Context, db *database.DB, region string, list []nodes.Row) error {
	ids, b := make([]string, len(list)), &database.Batch{}
	for i, n := range list {
		ids[i] = n.ID
		b.Queue(`
			INSERT INTO nodes (id, name, address, node_pool, datacenter, version, status, eligible, draining, drain_deadline, inventory, region)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::timestamptz, $11::jsonb, $12::text
			WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.id = $1
				AND (n.name, n.address, n.node_pool, n.datacenter, n.version, n.status, n.eligible, n.draining, n.inventory, n.region) = ($2, $3, $4, $5, $6, $7, $8, $9, $11::jsonb, $12::text)
				AND n.drain_deadline IS NOT DISTINCT FROM $10::timestamptz)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, address = excluded.address, node_pool = excluded.node_pool,
				datacenter = excluded.datacenter, version = excluded.version, status = excluded.status,
				eligible = excluded.eligible, draining = excluded.draining, drain_deadline = excluded.drain_deadline,
				inventory = excluded.inventory, seen_at = now()
			WHERE nodes.region = excluded.region`, // a node of another region moves when that region no longer has it
			n.ID, n.Name, n.Address, n.NodePool, n.Datacenter, n.Version, n.Status, n.Eligible, n.Draining, n.DrainDeadline, n.Inventory, region)
	}
	if err := db.Send(ctx, b); err != nil {
		return err
	}
	return db.Exec(ctx, "DELETE FROM nodes WHERE region = $2 AND NOT (id = ANY($1))", ids, region)
}

// PendingSubmission is an attempt whose job is to be submitted to Nomad, with the rows that
// the job is made from.
type PendingSubmission struct {
	task.Row
	// The workspace, and the owner's rights now: they decide which secrets the attempt may mount.
	Workspace   string `db:"workspace"`
	WorkspaceID int    `db:"workspace_id"`
	OwnerActive bool   `db:"owner_active"`
	OwnerAdmin  bool   `db:"owner_admin"`
	OwnerGrants []byte `db:"grants"`

	Tries   int                        `db:"-"` // failed tries to submit it
	Members []LiveMember               `db:"-"`
	Nodes   map[string]json.RawMessage `db:"-"` // inventories of its nodes, by id
}

// Who returns the attempt's owner with the owner's present rights.
func (s *PendingSubmission) Who() (auth.Who, error) {
	grants, err := accounts.ReadGrants(s.OwnerGrants)
	return auth.Who{UserID: s.OwnerID, Username: s.Owner, Admin: s.OwnerAdmin, Grants: grants}, err
}

// Submissions reads those of these attempts that are still to be submitted.
func Submissions(ctx context.Context, db *database.DB, roles accounts.Roles, ids []string) ([]PendingSubmission, error) {
	list, err := database.Rows[PendingSubmission](ctx, db, `
		SELECT `+attempts.Columns+`, w.name AS workspace, w.id AS workspace_id, u.active AS owner_active, u.admin AS owner_admin, `+roles.Grants()+` FROM `+attempts.Tables+`
		WHERE a.id = ANY($1) AND a.state = 'ASSIGNED' AND a.submitted_at IS NULL AND a.kill_at IS NULL AND a.refused_why = ''`, ids)
	if err != nil || len(list) == 0 {
		return list, err
	}
	members, err := database.Rows[memberRow](ctx, db, memberRows, ids)
	if err != nil {
		return nil, err
	}
	at := make(map[string]*PendingSubmission, len(list))
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	for _, m := range members {
		if s := at[m.AllocationID]; s != nil {
			s.Members = append(s.Members, m.LiveMember)
		}
	}
	if err := addNodes(ctx, db, list, members); err != nil {
		return nil, err
	}
	return list, addShown(ctx, db, list)
}

// addNodes adds the inventories of the attempts' nodes.
func addNodes(ctx context.Context, db *database.DB, list []PendingSubmission, members []memberRow) error {
	ids := each.Set(members, func(m memberRow) string { return m.NodeID })
	nodes, err := database.Map[string, json.RawMessage](ctx, db, "SELECT id, inventory FROM nodes WHERE id = ANY($1)", sortedKeys(ids))
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Nodes = nodes
	}
	return nil
}

// addShown adds the trials that TensorBoards show.
func addShown(ctx context.Context, db *database.DB, list []PendingSubmission) error {
	for i := range list {
		if list[i].Type != task.Tensorboard {
			continue
		}
		var err error
		if list[i].Shows, err = tasks.ShownBy(ctx, db, list[i].TaskID); err != nil {
			return err
		}
	}
	return nil
}
