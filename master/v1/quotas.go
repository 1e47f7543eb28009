package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
)

// A Quota bounds a workspace, a project, a user, or a user in a workspace. Determined has no such
// message.
type Quota struct {
	ID            int          `json:"id"`
	WorkspaceID   int          `json:"workspaceId"` // 0: of a user in all workspaces; of a project: its workspace
	WorkspaceName string       `json:"workspaceName"`
	ProjectID     int          `json:"projectId"` // 0: not of a project
	ProjectName   string       `json:"projectName"`
	UserID        int          `json:"userId"` // 0: not of a user
	Username      string       `json:"username"`
	ResourcePool  string       `json:"resourcePool"` // "": all pools
	Measure       QuotaMeasure `json:"measure"`
	Period        QuotaPeriod  `json:"period"`
	Soft          *int         `json:"soft"`
	Hard          *int         `json:"hard"`
	Used          float64      `json:"used"`         // slots that are held now, or slot-hours of the current period
	PeriodStart   *time.Time   `json:"periodStart"`  // of slot-hours
	PeriodEnd     *time.Time   `json:"periodEnd"`    // of slot-hours; null without end
	MeasuredTime  *time.Time   `json:"measuredTime"` // when slot-hours were counted
}

// A QuotaMeasure is what a quota bounds.
type QuotaMeasure string

// The values of QuotaMeasure.
const (
	QuotaMeasureSlots     QuotaMeasure = "slots"      // held at the same time
	QuotaMeasureSlotHours QuotaMeasure = "slot_hours" // used in a period
)

// A QuotaPeriod is the time in which slot-hours are counted. Days, weeks (from Monday) and months
// begin at midnight UTC.
type QuotaPeriod string

// The values of QuotaPeriod.
const (
	QuotaPeriodNone  QuotaPeriod = "" // of slots
	QuotaPeriodDay   QuotaPeriod = "day"
	QuotaPeriodWeek  QuotaPeriod = "week"
	QuotaPeriodMonth QuotaPeriod = "month"
	QuotaPeriodTotal QuotaPeriod = "total" // since the quota was created
)

// PutQuotaRequest sets a quota in place of the one for the same workspace, project, user, pool,
// measure and period.
type PutQuotaRequest struct {
	WorkspaceID  int          `json:"workspaceId"`
	ProjectID    int          `json:"projectId"`
	UserID       int          `json:"userId"`
	ResourcePool string       `json:"resourcePool"`
	Measure      QuotaMeasure `json:"measure"` // "": slots
	Period       QuotaPeriod  `json:"period"`
	Soft         *int         `json:"soft"`
	Hard         *int         `json:"hard"`
}

// PutQuotaResponse is the answer of PutQuota.
type PutQuotaResponse struct {
	Quota Quota `json:"quota"`
}

// GetQuotasResponse is the answer of ListQuotas.
type GetQuotasResponse struct {
	Quotas     []Quota     `json:"quotas"`
	Pagination *Pagination `json:"pagination,null"`
}

// Records returns the records of the page.
func (r GetQuotasResponse) Records() ([]Quota, Pagination) {
	return r.Quotas, optional.Value(r.Pagination)
}
