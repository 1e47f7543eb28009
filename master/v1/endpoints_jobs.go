package v1

// The endpoints of jobs.
var (
	ListJobs = Endpoint[None, GetJobsV2Response]{Method: "GET", Path: "/job-queues-v2", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "What runs and what waits, in the order of the queue",
		Params:  "resourcePool states limit offset orderBy"}
	CountJobs = Endpoint[None, JobStatsResponse]{Method: "GET", Path: "/job-queues/stats", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "How many jobs run and wait in each pool",
		Params:  "resourcePools"}
	ChangeJobs = Endpoint[UpdateJobQueueRequest, Empty]{Method: "POST", Path: "/job-queues", Access: ByUsers, Object: KindJob, Verb: Change, NamedIn: Body,
		Summary: "Change the priority, the weight, the pool or the place in the queue of jobs"}
)
