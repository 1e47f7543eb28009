package v1

// The endpoints of allocations.
var (
	ClaimAllocation = Endpoint[ClaimRequest, ClaimResponse]{Method: "POST", Path: "/detent/allocations/:id/claim", Access: Public,
		Summary: "Trade a workload identity for the right to start a program"}
	ReportLogMatches = Endpoint[LogMatchesRequest, None]{Method: "POST", Path: "/detent/allocations/:id/members/:rank/log_matches", Access: ByTasks, Object: KindMember, Verb: Report, After: true,
		Summary: "Report lines that match log policies"}
	ReportMemberExit = Endpoint[MemberExitRequest, None]{Method: "POST", Path: "/detent/allocations/:id/members/:rank/exit", Access: ByTasks, Object: KindMember, Verb: Report, After: true,
		Summary: "Report how a program ended"}
	MemberRendezvous = Endpoint[None, MemberRendezvousResponse]{Method: "POST", Path: "/detent/allocations/:id/members/:rank/rendezvous", Access: ByTasks, Object: KindMember, Verb: Report, Waits: true,
		Summary: "Wait for the other members of an attempt"}
	AllocationRendezvous = Endpoint[None, AllocationRendezvousInfoResponse]{Method: "GET", Path: "/allocations/:id/resources/:resources/rendezvous", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Wait for the other members of an attempt"}
	AllGather = Endpoint[AllocationAllGatherRequest, AllocationAllGatherResponse]{Method: "POST", Path: "/allocations/:id/all_gather", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Exchange data with the peers of an attempt"}
	NotifyContainerRunning = Endpoint[NotifyContainerRunningRequest, NotifyContainerRunningResponse]{Method: "POST", Path: "/allocations/:id/notify_container_running", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Exchange a sign of life with the peers of an attempt"}
	AwaitPreemption = Endpoint[None, PreemptionSignalResponse]{Method: "GET", Path: "/allocations/:id/signals/preemption", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true,
		Summary: "Wait until an attempt is asked to make way"}
	AcknowledgePreemption = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/signals/ack_preemption", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Say that a program will checkpoint and leave"}
	AskForPreemption = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/signals/pending_preemption", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Ask for a checkpoint because the node will go"}
	ReportReady = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/ready", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Say that a program is up"}
	ReportWaiting = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/waiting", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Say that a program waits for something to show"}
	ReportProxyAddress = Endpoint[PostAllocationProxyAddressRequest, None]{Method: "POST", Path: "/allocations/:id/proxy_address", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Say where a program can be reached"}
	ReportAccelerators = Endpoint[PostAllocationAcceleratorDataRequest, None]{Method: "POST", Path: "/allocations/:id/acceleratorData", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Say which accelerators a member has"}
	ReportDaemon = Endpoint[None, None]{Method: "POST", Path: "/allocations/:id/resources/:resources/daemon", Access: ByTasks, Object: KindAllocation, Verb: Report,
		Summary: "Say that a member does not count for completion"}
	WatchAllocation = Endpoint[None, WatchResponse]{Method: "GET", Path: "/detent/allocations/:id/watch", Access: ByTasks, Object: KindAllocation, Verb: Report, Waits: true, After: true,
		Summary: "Wait until an attempt is to end"}
	GetAllocation = Endpoint[None, AllocationResponse]{Method: "GET", Path: "/allocations/:id", Access: ByBoth, Object: KindAllocation, Verb: View,
		Summary: "An attempt"}
)
