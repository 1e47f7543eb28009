package jobspecs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"
)

// Keys of a job's metadata by which masters recognise jobs of their cluster and their attempts.
// The other metadata is for users.
const (
	MetaCluster    = "det_cluster"
	MetaAllocation = "det_allocation"
)

// Render returns the Nomad job of a task, or an error if the task is invalid.
func Render(t Task) (*api.Job, error) {
	t.fillDefaults()
	if err := t.problems(); err != nil {
		return nil, fmt.Errorf("attempt %s cannot be made into a Nomad job: %w", t.AllocationID, err)
	}
	base := t.base()
	job := &api.Job{
		ID:          new(JobID(t.AllocationID)),
		Name:        new(t.jobName()),
		Type:        new("batch"),
		AllAtOnce:   new(len(t.Members) > 1),
		Datacenters: t.datacenters(),
		NodePool:    new("default"),
		Priority:    base.Priority,
		Constraints: slices.Clone(base.Constraints),
		Affinities:  slices.Clone(base.Affinities),
		Spreads:     slices.Clone(base.Spreads),
		Meta:        t.meta(),
		UI:          t.ui(),
		Reschedule:  noReschedule(),
	}
	if base.NodePool != nil && *base.NodePool != "" {
		job.NodePool = new(*base.NodePool)
	}
	if ns := t.Pool.Namespace; ns != "" {
		job.Namespace = new(ns)
	}
	t.Overlay.applyTo(job)
	for rank := range t.Members {
		job.TaskGroups = append(job.TaskGroups, t.group(rank))
	}
	return job, nil
}

// base returns the pool's job, with which the task's job begins.
func (t *Task) base() *api.Job { return t.Pool.Base() }

// applyTo adds the settings of environment.nomad to a job.
func (o *Overlay) applyTo(job *api.Job) {
	for _, c := range o.Constraints {
		job.Constraints = append(job.Constraints, &api.Constraint{LTarget: c.Attribute, Operand: cmp.Or(c.Operator, "="), RTarget: c.Value})
	}
	for _, a := range o.Affinities {
		job.Affinities = append(job.Affinities, &api.Affinity{LTarget: a.Attribute, Operand: cmp.Or(a.Operator, "="), RTarget: a.Value, Weight: new(int8(a.Weight))})
	}
	for _, s := range o.Spreads {
		spread := &api.Spread{Attribute: s.Attribute, Weight: new(int8(s.Weight))}
		for _, target := range s.Targets {
			spread.SpreadTarget = append(spread.SpreadTarget, &api.SpreadTarget{Value: target.Value, Percent: uint8(target.Percent)})
		}
		job.Spreads = append(job.Spreads, spread)
	}
}

// datacenters returns the datacenters in which a job may run.
func (t *Task) datacenters() []string {
	if len(t.Pool.Datacenters) == 0 {
		return []string{"*"}
	}
	return slices.Clone(t.Pool.Datacenters)
}

// fillDefaults sets what the task does not set.
func (t *Task) fillDefaults() {
	group := t.base().TaskGroups[0]
	if logs := group.Tasks[0].LogConfig; logs != nil {
		t.LogFiles, t.LogFileMB = positiveOr(optional.Value(logs.MaxFiles), t.LogFiles), positiveOr(optional.Value(logs.MaxFileSizeMB), t.LogFileMB)
	}
	if disk := group.EphemeralDisk; disk != nil {
		t.DiskMB = positiveOr(optional.Value(disk.SizeMB), t.DiskMB)
	}
	t.KillTimeout = positiveOr(optional.Value(group.Tasks[0].KillTimeout), t.KillTimeout)
	t.LogFiles = positiveOr(t.LogFiles, defaultLogFiles)
	t.LogFileMB = positiveOr(t.LogFileMB, defaultLogFileMB)
	t.KillTimeout = positiveOr(t.KillTimeout, defaultKill)
	t.StopAfter = positiveOr(t.StopAfter, defaultStopAfter)
	// Nomad rejects a job whose disk is too small for its logs.
	t.DiskMB = max(positiveOr(t.DiskMB, defaultDiskMB), 2*t.LogFiles*t.LogFileMB+10)
}

// meta returns the job's metadata for operators and their tools. The metadata of the pool's job
// is kept, because operators may use it for accounting.
func (t *Task) meta() map[string]string {
	meta := map[string]string{}
	for _, from := range []map[string]string{t.Overlay.Meta, t.base().Meta} {
		for key, value := range from {
			if !strings.HasPrefix(key, "det_") {
				meta[key] = plain(value, maxMeta)
			}
		}
	}
	put := func(key, value string) {
		if value != "" {
			meta[key] = plain(value, maxMeta)
		}
	}
	put(MetaCluster, t.ClusterID)
	put(MetaAllocation, t.AllocationID)
	put("det_cluster_name", t.ClusterName)
	put("det_task", t.TaskID)
	put("det_type", t.Type)
	put("det_title", t.Title)
	put("det_owner", t.Owner)
	put("det_pool", t.Pool.Name)
	put("det_run", strconv.Itoa(t.Run))
	if t.ExperimentID > 0 {
		put("det_experiment", strconv.Itoa(t.ExperimentID))
	}
	if t.TrialID > 0 {
		put("det_trial", strconv.Itoa(t.TrialID))
	}
	return meta
}

func (t *Task) ui() *api.JobUIConfig {
	ui := &api.JobUIConfig{Description: t.description()}
	for _, l := range safeLinks(t.Links) {
		ui.Links = append(ui.Links, &api.JobUILink{Label: l.Label, URL: l.URL})
	}
	return ui
}

// noReschedule is the policy with which Nomad never reschedules: the master starts the next attempt.
func noReschedule() *api.ReschedulePolicy {
	return &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
}

// group returns the group of one member, which is pinned to its node and has its rank in its name.
func (t *Task) group(rank int) *api.TaskGroup {
	m, base := t.Members[rank], t.base().TaskGroups[0]
	if m.Runner != nil {
		own := *t
		own.Runner, t = *m.Runner, &own
	}
	slots := each.Of(m.SlotIDs, strconv.Itoa)
	meta := maps.Clone(base.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	meta["det_rank"], meta["det_slots"] = strconv.Itoa(rank), strings.Join(slots, ",")
	return &api.TaskGroup{
		Name:        new(GroupName(rank)),
		Count:       new(1),
		Constraints: append(slices.Clone(base.Constraints), &api.Constraint{LTarget: "${node.unique.id}", Operand: "=", RTarget: m.NodeID}),
		Affinities:  slices.Clone(base.Affinities),
		Spreads:     slices.Clone(base.Spreads),
		Volumes:     t.volumes(),
		RestartPolicy: &api.RestartPolicy{
			Attempts: new(0), Mode: new("fail"), Interval: new(24 * time.Hour), Delay: new(15 * time.Second), RenderTemplates: new(false),
		},
		ReschedulePolicy: noReschedule(),
		Disconnect:       &api.DisconnectStrategy{StopOnClientAfter: new(t.StopAfter), Replace: new(false)},
		EphemeralDisk:    &api.EphemeralDisk{SizeMB: new(t.DiskMB), Migrate: new(false), Sticky: new(false)},
		Networks:         []*api.NetworkResource{t.groupNetwork()},
		Services:         []*api.Service{t.service(rank)},
		Meta:             meta,
		Tasks:            []*api.Task{t.main(rank)},
	}
}

// service registers the member's address. Rank and ports are in its metadata, and also in its
// tags, because Nomad's own services have no metadata.
func (t *Task) service(rank int) *api.Service {
	meta := map[string]string{"rank": strconv.Itoa(rank)}
	for _, label := range append([]string{RunnerPort}, t.Ports...) {
		meta[PortMeta(label)] = fmt.Sprintf("${NOMAD_HOST_PORT_%s}", label)
	}
	tags := each.Of(slices.Sorted(maps.Keys(meta)), func(key string) string { return key + "=" + meta[key] })
	if rank == 0 && t.Ingress != nil {
		tags = append(tags, t.Ingress.tags(JobID(t.AllocationID))...)
	}
	s := &api.Service{
		Name:      JobID(t.AllocationID),
		Provider:  t.Services,
		PortLabel: RunnerPort,
		Tags:      tags,
		Checks: []api.ServiceCheck{{
			Name: "runner", Type: "http", Path: "/health", PortLabel: RunnerPort,
			Interval: 10 * time.Second, Timeout: 3 * time.Second,
		}},
	}
	if t.Services == ConsulServices {
		s.Meta = meta
	}
	return s
}

// PortMeta is the key of a service's metadata with the number of a port.
func PortMeta(label string) string { return "port-" + label }

func positiveOr[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}
