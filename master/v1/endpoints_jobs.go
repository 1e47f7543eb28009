package v1

// The endpoints of jobs.
var (
	ListJobs = Endpoint[None, GetJobsV2Response]{Method: "GET", Path: "/job-queues-v2", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "List the jobs that run or wait, in the order of the queue",
		Params:  "resourcePool states limit offset orderBy"}
	ListOldJobs = Endpoint[None, GetJobsResponse]{Method: "GET", Path: "/job-queues", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "List the jobs that run or wait, in the form for older clients",
		Params:  "resourcePool states limit offset orderBy"}
	CountJobs = Endpoint[None, JobStatsResponse]{Method: "GET", Path: "/job-queues/stats", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "Count the jobs that run and wait in each pool",
		Params:  "resourcePools"}
	ChangeJobs = Endpoint[UpdateJobQueueRequest, Empty]{Method: "POST", Path: "/job-queues", Access: ByUsers, Object: KindJob, Verb: Change, NamedIn: Body,
		Summary: "Change the priority, weight, pool or queue position of jobs"}
)
