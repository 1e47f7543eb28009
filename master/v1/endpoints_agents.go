package v1

// The endpoints of agents.
var (
	ListPools = Endpoint[None, GetResourcePoolsResponse]{Method: "GET", Path: "/resource-pools", Access: ByBoth, Object: KindPool, Verb: View, List: true,
		Summary: "List resource pools",
		Params:  "limit offset"}
	ListAgents = Endpoint[None, GetAgentsResponse]{Method: "GET", Path: "/agents", Access: ByBoth, Object: KindAgent, Verb: View, List: true,
		Summary: "List nodes",
		Params:  "excludeContainers excludeSlots limit offset orderBy sortBy"}
	GetAgent = Endpoint[None, AgentResponse]{Method: "GET", Path: "/agents/:id", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "A node"}
	EnableAgent = Endpoint[None, AgentResponse]{Method: "POST", Path: "/agents/:id/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Let a node take work again"}
	DisableAgent = Endpoint[DisableRequest, AgentResponse]{Method: "POST", Path: "/agents/:id/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Give a node no new work, and ask what runs there to leave; with drain it may run to its end"}
	ListSlots = Endpoint[None, SlotsResponse]{Method: "GET", Path: "/agents/:id/slots", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "The slots of a node"}
	GetSlot = Endpoint[None, SlotResponse]{Method: "GET", Path: "/agents/:id/slots/:slot", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "A slot"}
	EnableSlot = Endpoint[None, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:slot/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Let a slot take work again"}
	DisableSlot = Endpoint[DisableRequest, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:slot/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Give a slot no new work, and ask what runs there to leave; with drain it may run to its end"}
	GetPoolSlot = Endpoint[None, SlotResponse]{Method: "GET", Path: "/agents/:id/slots/:pool/:slot", Access: ByBoth, Object: KindAgent, Verb: View,
		Summary: "A slot"}
	EnablePoolSlot = Endpoint[None, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:pool/:slot/enable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Let a slot take work again"}
	DisablePoolSlot = Endpoint[DisableRequest, SlotResponse]{Method: "POST", Path: "/agents/:id/slots/:pool/:slot/disable", Access: ByAdmins, Object: KindAgent, Verb: Administer, Again: true,
		Summary: "Give a slot no new work, and ask what runs there to leave; with drain it may run to its end"}
)
