package v1

import "time"

// The requests of lists.
type (
	// GetListRequest is the request of lists that are only cut.
	GetListRequest struct{ Window }

	GetAgentsRequest struct {
		ExcludeContainers bool `json:"excludeContainers"`
		ExcludeSlots      bool `json:"excludeSlots"`
		IncludeLost       bool `json:"includeLost"` // nodes that Nomad has not reached for a while, too
		Window
		Order
	}
	GetAttemptsRequest struct {
		Window
		Trial int `json:"trial"` // of an experiment's attempts: only those of a trial
	}
	GetAuditRequest struct {
		Username    string     `json:"username"`
		Kind        string     `json:"kind"`
		Object      string     `json:"object"`
		Verb        string     `json:"verb"`
		WorkspaceID int        `json:"workspaceId"`
		Failed      bool       `json:"failed"`
		Since       *time.Time `json:"since"`
		Until       *time.Time `json:"until"`
		Before      *int64     `json:"before"`
		Limit       *int       `json:"limit"`
	}
	GetQueueRecordingRequest struct {
		Since *time.Time `json:"since"` // each pool begins with what is needed to know its state at that time
		Until *time.Time `json:"until"`
		After int        `json:"after"`
	}
	GetCheckpointsRequest struct {
		States       []string `json:"states"`
		SortByAttr   string   `json:"sortByAttr"`
		SortByMetric string   `json:"sortByMetric"`
		OrderBy      string   `json:"orderBy"`
		Window
	}
	// GetCommandsRequest is the request for a list of commands, notebooks, shells, TensorBoards or generic tasks.
	GetCommandsRequest struct {
		Users       []string `json:"users"`
		UserIDs     []int    `json:"userIds"`
		WorkspaceID int      `json:"workspaceId"`
		Window
		Order
	}
	GetExperimentsRequest struct {
		Archived      *bool             `json:"archived"`
		Description   string            `json:"description"`
		Above         *int              `json:"experimentIdFilter.gt"`
		From          *int              `json:"experimentIdFilter.gte"`
		IDs           []int             `json:"experimentIdFilter.incl"`
		Below         *int              `json:"experimentIdFilter.lt"`
		To            *int              `json:"experimentIdFilter.lte"`
		NotIDs        []int             `json:"experimentIdFilter.notIn"`
		Labels        []string          `json:"labels"`
		Name          string            `json:"name"`
		ProjectID     int               `json:"projectId"`
		States        []ExperimentState `json:"states"`
		UserIDs       []int             `json:"userIds"`
		Users         []string          `json:"users"`
		WithoutConfig bool              `json:"withoutConfig"`
		Window
		Order
	}
	GetExperimentLabelsRequest struct {
		ProjectID int `json:"projectId"`
	}
	GetJobsRequest struct {
		ResourcePool string     `json:"resourcePool"`
		States       []JobState `json:"states"`
		Window
		OrderBy string `json:"orderBy"`
	}
	GetJobQueueStatsRequest struct {
		ResourcePools []string `json:"resourcePools"`
	}
	GetModelsRequest struct {
		Name           string   `json:"name"`
		Description    string   `json:"description"`
		Labels         []string `json:"labels"`
		Archived       *bool    `json:"archived"`
		ID             int      `json:"id"`
		Users          []string `json:"users"`
		UserIDs        []int    `json:"userIds"`
		WorkspaceIDs   []int    `json:"workspaceIds"`
		WorkspaceNames []string `json:"workspaceNames"`
		Window
		Order
	}
	GetModelLabelsRequest struct {
		WorkspaceID int `json:"workspaceId"`
	}
	GetModelVersionsRequest struct {
		Window
		Order
	}
	GetProjectColumnsRequest struct {
		TableType string `json:"tableType"`
	}
	GetReservationsRequest struct {
		Window
		ResourcePool string `json:"resourcePool"`
	}
	GetQuotasRequest struct {
		Window
		WorkspaceID int `json:"workspaceId"`
		ProjectID   int `json:"projectId"`
		UserID      int `json:"userId"`
	}
	GetWorkspaceMembersRequest struct {
		Name string `json:"name"`
	}
	GetSessionsRequest struct {
		Username string `json:"username"`
		All      bool   `json:"all"`
		Window
	}
	GetTemplatesRequest struct {
		Name         string `json:"name"`
		WorkspaceIDs []int  `json:"workspaceIds"`
		Window
		Order
	}
	GetAccessTokensRequest struct {
		Username     string `json:"username"`
		ShowInactive bool   `json:"showInactive"`
		TokenIDs     []int  `json:"tokenIds"`
		Window
		Order
	}
	GetExperimentTrialsRequest struct {
		States []ExperimentState `json:"states"`
		Window
		Order
	}
	GetTrialWorkloadsRequest struct {
		Filter                   string     `json:"filter"`
		Group                    string     `json:"group"`
		IncludeBatchMetrics      bool       `json:"includeBatchMetrics"`
		MetricType               MetricType `json:"metricType"`
		RemoveDeletedCheckpoints bool       `json:"removeDeletedCheckpoints"`
		SortKey                  string     `json:"sortKey"`
		Window
		OrderBy string `json:"orderBy"`
	}
	GetSearchNewsRequest struct {
		// After is `next` of the answer before. Without it the news begin with the first trial.
		After *int64 `json:"after"`
	}
	ListSearchEventsRequest struct {
		After int64 `json:"after"` // `next` of the answer before; without it the list begins with the beginning of the search
		Limit *int  `json:"limit"` // up to 1000; 100 by default
	}
	GetSearchTrialsRequest struct {
		Metric       string     `json:"metric"`
		Group        string     `json:"group"`
		Points       *int       `json:"points"`
		After        int        `json:"after"`
		Limit        *int       `json:"limit"`
		ChangedSince *time.Time `json:"changedSince"`
	}
	GetUsersRequest struct {
		Active *bool  `json:"active"`
		Admin  *bool  `json:"admin"`
		Name   string `json:"name"`
		Window
		Order
	}
	GetVisitedProjectsRequest struct {
		Limit *int `json:"limit"`
	}
	GetWebhookDeliveriesRequest struct {
		Before *int64 `json:"before"`
		Limit  *int   `json:"limit"`
	}
	GetWorkspacesRequest struct {
		Archived          *bool    `json:"archived"`
		Name              string   `json:"name"`
		NameCaseSensitive string   `json:"nameCaseSensitive"`
		Pinned            *bool    `json:"pinned"`
		Users             []string `json:"users"`
		UserIDs           []int    `json:"userIds"`
		Window
		Order
	}
	GetWorkspaceProjectsRequest struct {
		Archived *bool    `json:"archived"`
		Name     string   `json:"name"`
		Users    []string `json:"users"`
		UserIDs  []int    `json:"userIds"`
		Window
		Order
	}
)

// The requests of logs.
type (
	GetLogsRequest struct {
		Limit           int        `json:"limit"`
		Follow          bool       `json:"follow"`
		AllocationIDs   []string   `json:"allocationIds"`
		AgentIDs        []string   `json:"agentIds"`
		ContainerIDs    []string   `json:"containerIds"`
		RankIDs         []int      `json:"rankIds"`
		Levels          []string   `json:"levels"`
		Stdtypes        []string   `json:"stdtypes"`
		Sources         []string   `json:"sources"`
		TimestampBefore *time.Time `json:"timestampBefore"`
		TimestampAfter  *time.Time `json:"timestampAfter"`
		OrderBy         string     `json:"orderBy"`
		SearchText      string     `json:"searchText"`
		EnableRegex     bool       `json:"enableRegex"`
	}
	SearchLogsRequest struct {
		SearchText string `json:"searchText"`
		Limit      *int   `json:"limit"`
		Before     string `json:"before"`
	}
	GetMasterLogsRequest struct {
		Follow bool `json:"follow"`
		Window
	}
	// FollowRequest asks for what there is or, with Follow, also for what comes until the task has ended.
	FollowRequest struct {
		Follow bool `json:"follow"`
	}
)

// The requests of metrics.
type (
	// GetMetricsRequest is the request for the reports of trials. Group has no effect where the path names one.
	GetMetricsRequest struct {
		TrialIDs []int  `json:"trialIds"`
		Group    string `json:"group"`
	}
	GetTimeSeriesRequest struct {
		TrialIDs      []int      `json:"trialIds"`
		MaxDatapoints *int       `json:"maxDatapoints"`
		MetricNames   []string   `json:"metricNames"`
		StartBatches  int        `json:"startBatches"`
		EndBatches    int        `json:"endBatches"`
		MetricType    MetricType `json:"metricType"`
		Group         string     `json:"group"`
		MetricIDs     []string   `json:"metricIds"`
		TimeSeriesFilter
	}
	// TimeSeriesFilter selects steps. The bounds of both ranges hold.
	TimeSeriesFilter struct {
		FilterName string   `json:"timeSeriesFilter.name"`
		IntegerGT  *float64 `json:"timeSeriesFilter.integerRange.gt"`
		IntegerGTE *float64 `json:"timeSeriesFilter.integerRange.gte"`
		IntegerLT  *float64 `json:"timeSeriesFilter.integerRange.lt"`
		IntegerLTE *float64 `json:"timeSeriesFilter.integerRange.lte"`
		DoubleGT   *float64 `json:"timeSeriesFilter.doubleRange.gt"`
		DoubleGTE  *float64 `json:"timeSeriesFilter.doubleRange.gte"`
		DoubleLT   *float64 `json:"timeSeriesFilter.doubleRange.lt"`
		DoubleLTE  *float64 `json:"timeSeriesFilter.doubleRange.lte"`
	}
	GetMetricNamesRequest struct {
		IDs           []int `json:"ids"`
		PeriodSeconds int   `json:"periodSeconds"`
	}
	// MetricOf is the metric that a stream is about.
	MetricOf struct {
		MetricName string     `json:"metricName"`
		Group      string     `json:"group"`
		MetricType MetricType `json:"metricType"`
	}
	GetMetricBatchesRequest struct {
		MetricOf
		PeriodSeconds int `json:"periodSeconds"`
	}
	GetTrialsSnapshotRequest struct {
		MetricOf
		BatchesProcessed int `json:"batchesProcessed"`
		BatchesMargin    int `json:"batchesMargin"`
		PeriodSeconds    int `json:"periodSeconds"`
	}
	GetTrialsSampleRequest struct {
		MetricOf
		MaxTrials     *int `json:"maxTrials"`
		MaxDatapoints *int `json:"maxDatapoints"`
		StartBatches  int  `json:"startBatches"`
		EndBatches    int  `json:"endBatches"`
		PeriodSeconds int  `json:"periodSeconds"`
	}
	GetProfilerMetricsRequest struct {
		Name       string             `json:"labels.name"`
		AgentID    string             `json:"labels.agentId"`
		GPUUUID    string             `json:"labels.gpuUuid"`
		MetricType ProfilerMetricType `json:"labels.metricType"`
		Follow     bool               `json:"follow"`
		Sample     bool               `json:"sample"`
	}
	GetSourceMetricsRequest struct {
		TrialSourceInfoType TrialSourceInfoType `json:"trialSourceInfoType"`
		MetricGroup         string              `json:"metricGroup"`
	}
)

// Other requests.
type (
	GetFileRequest   FileRequest
	PreviewGCRequest struct {
		SaveExperimentBest *int `json:"save_experiment_best"`
		SaveTrialBest      *int `json:"save_trial_best"`
		SaveTrialLatest    *int `json:"save_trial_latest"`
		Offset             int  `json:"offset"`
	}
	FollowLiveRequest struct {
		Trials []int  `json:"trials"`
		After  string `json:"after"`
	}
	OpenTerminalRequest struct {
		Columns string `json:"columns"`
		Rows    string `json:"rows"`
	}
	AwaitPreemptionRequest struct {
		TimeoutSeconds *int `json:"timeoutSeconds"`
	}
	GetUsageRequest struct {
		TimestampAfter  *time.Time `json:"timestampAfter"`
		TimestampBefore *time.Time `json:"timestampBefore"`
	}
	GetAggregatedUsageRequest struct {
		StartDate string                              `json:"startDate"`
		EndDate   string                              `json:"endDate"`
		Period    ResourceAllocationAggregationPeriod `json:"period"`
	}
)

type Pagination struct {
	EndIndex   int `json:"endIndex"`
	Limit      int `json:"limit"`
	Offset     int `json:"offset"`
	StartIndex int `json:"startIndex"`
	Total      int `json:"total"`
}
