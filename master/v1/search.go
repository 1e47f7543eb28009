package v1

// SearchExperimentsRequest searches experiments. Filter is JSON in Determined's form; Query,
// which Determined does not have, is a filter as users type it. If both are set, experiments
// must match both.
type SearchExperimentsRequest struct {
	ProjectID     *int    `json:"projectId,omitempty"`
	Offset        *int    `json:"offset,omitempty"`
	Limit         *int    `json:"limit,omitempty"`
	Sort          *string `json:"sort,omitempty"`
	Filter        *string `json:"filter,omitempty"`
	Query         *string `json:"query,omitempty"`
	WithoutConfig *bool   `json:"withoutConfig,omitempty"`
}

// SearchExperimentExperiment is a found experiment, with its best trial.
type SearchExperimentExperiment struct {
	Experiment Experiment `json:"experiment"`
	BestTrial  *Trial     `json:"bestTrial"`
}

type SearchExperimentsResponse struct {
	Experiments []SearchExperimentExperiment `json:"experiments"`
	Pagination  Pagination                   `json:"pagination"`
}

// MetricsRange is the smallest and the largest value of a column of a metric.
type MetricsRange struct {
	MetricsName string  `json:"metricsName"`
	Min         float64 `json:"min"`
	Max         float64 `json:"max"`
}

// GetProjectNumericMetricsRangeResponse is a message of the wire.
type GetProjectNumericMetricsRangeResponse struct {
	Ranges []MetricsRange `json:"ranges"`
}

// ProjectColumn is a property by which the experiments of a project can be searched.
type ProjectColumn struct {
	Column      string `json:"column"`
	Location    string `json:"location"`
	Type        string `json:"type"`
	DisplayName string `json:"displayName"`
}

type GetProjectColumnsResponse struct {
	Columns []ProjectColumn `json:"columns"`
}
