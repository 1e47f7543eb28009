package v1

// The endpoints of agents.
var (
	ListPools = Endpoint[GetListRequest, GetResourcePoolsResponse]{Method: "GET", Path: "/resource-pools", Access: ByBoth, Object: KindPool, Verb: View, List: true,
		Summary: "List resource pools"}
	ListAgents = Endpoint[GetAgentsRequest, GetAgentsResponse]{Method: "GET", Path: "/agents", Access: ByBoth, Object: KindAgent, Verb: View, List: true,
		Summary: "List nodes"}
	GetAgent = Endpoint[None, AgentResponse]{Method: "GET", Path: "/agents/:id", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "Get a node"}
	EnableAgent = Endpoint[None, AgentResponse]{Method: "POST", Path: "/agents/:id/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Enable a node: the scheduler places work on it again"}
	DisableAgent = Endpoint[DisableRequest, AgentResponse]{Method: "POST", Path: "/agents/:id/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Disable a node: the scheduler places no new work on it and preempts its tasks; with drain, its tasks run to their end"}
	MeasureNode = Endpoint[None, NodeMeasurements]{Method: "GET", Path: "/detent/agents/:id/measurements", Access: ByUsers, Object: KindAgent, Verb: View,
		Summary: "Get what the devices of a node measure now: temperature, use, memory, power"}
	ListNodeAttempts = Endpoint[GetListRequest, ListAttemptsResponse]{Method: "GET", Path: "/detent/agents/:id/attempts", Access: ByUsers, Object: KindAgent, Verb: View,
		Summary: "List the attempts that ran or run on a node, the newest first"}
	ListSlots = Endpoint[None, SlotsResponse]{Method: "GET", Path: "/agents/:id/slots", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "List the slots of a node"}
	GetSlot = Endpoint[None, SlotResponse]{Method: "GET", Path: "/agents/:id/slots/:slot", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "Get a slot"}
	EnableSlot = Endpoint[None, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:slot/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Enable a slot: the scheduler places work on it again"}
	DisableSlot = Endpoint[DisableRequest, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:slot/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Disable a slot: the scheduler places no new work on it and preempts its task; with drain, its task runs to its end"}
	GetPoolSlot = Endpoint[None, SlotResponse]{Method: "GET", Path: "/agents/:id/slots/:pool/:slot", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "Get a slot by its pool and number"}
	EnablePoolSlot = Endpoint[None, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:pool/:slot/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Enable a slot by its pool and number"}
	DisablePoolSlot = Endpoint[DisableRequest, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:pool/:slot/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Disable a slot by its pool and number"}
)
