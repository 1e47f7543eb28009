package v1

// The endpoints of jobs.
var (
	ListJobs = Endpoint[GetJobsRequest, GetJobsV2Response]{Method: "GET", Path: "/job-queues-v2", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "List the jobs that run or wait, in the order of the queue"}
	ListOldJobs = Endpoint[GetJobsRequest, GetJobsResponse]{Method: "GET", Path: "/job-queues", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "List the jobs that run or wait, in the form for older clients"}
	CountJobs = Endpoint[GetJobQueueStatsRequest, JobStatsResponse]{Method: "GET", Path: "/job-queues/stats", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "Count the jobs that run and wait in each pool"}
	ChangeJobs = Endpoint[UpdateJobQueueRequest, Empty]{Method: "POST", Path: "/job-queues", Access: ByUsers, Object: KindJob, Verb: Change, NamedIn: Body,
		Summary: "Change the priority, weight, pool or queue position of jobs"}
)
