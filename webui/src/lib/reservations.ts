// Reservations of slots, and maintenances of nodes: what they hold, for whom and when.
import { call, whole } from './api';
import { clock, plural } from './format';
import { cancelReservation, createReservation, listReservations, type PostReservationRequest, type Reservation } from './types';

export const reservations = {
  all: (signal?: AbortSignal): Promise<Reservation[]> => whole(async (query) => { const { reservations: rows, pagination } = await call(listReservations, { query, signal }); return { rows, pagination }; }),
  make: (pool: string, body: PostReservationRequest) => call(createReservation, { path: [pool], body }),
  cancel: (id: number) => call(cancelReservation, { path: [id] }),
};

export const isMaintenance = (v: Pick<Reservation, 'agents'>): boolean => v.agents.length > 0;

// whatOf names what a reservation holds: 16 slots; node n3.
export function whatOf(v: Pick<Reservation, 'agents' | 'slots'>): string {
  return isMaintenance(v) ? `${v.agents.length === 1 ? 'node' : 'nodes'} ${v.agents.join(', ')}` : plural(v.slots, 'slot');
}

// whose names for whom it is. Who may not see a workspace learns only that it is another one.
export function whose(v: Reservation): string {
  if (isMaintenance(v)) return 'maintenance';
  if (v.workspaceName && v.username) return `${v.username} in workspace ${v.workspaceName}`;
  if (v.username) return v.username;
  return v.workspaceName ? `workspace ${v.workspaceName}` : 'another workspace';
}

// sentence says it all: 16 slots of gpu are reserved for workspace vision from … to ….
export function sentence(v: Reservation): string {
  const when = `from ${clock(v.startTime)} to ${clock(v.endTime)}`;
  if (isMaintenance(v)) return `${whatOf(v)} ${v.agents.length === 1 ? 'is' : 'are'} in maintenance ${when}`;
  return `${whatOf(v)} of ${v.resourcePool} ${v.slots === 1 ? 'is' : 'are'} reserved for ${whose(v)} ${when}`;
}

const units = { m: 60, h: 3600, d: 86400 } as const;

// endOf is when something ends that begins at a time and lasts for a length such as 90m, 4h or 2d.
export function endOf(from: Date, length: string): Date {
  const m = length.match(/^(\d+(?:\.\d+)?)\s*([mhd])$/);
  if (!m || Number(m[1]) <= 0) throw new Error('For how long: enter a length such as 90m, 4h or 2d.');
  return new Date(from.getTime() + Number(m[1]) * units[m[2] as keyof typeof units] * 1000);
}
