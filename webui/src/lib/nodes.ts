// What the master says about a node.
import type { Agent, Slot } from './types';

// slotsOf are the slots of a node. Those of a lost node are out of use; the master calls them draining, for Determined's clients.
export function slotsOf(node: Agent): Slot[] {
  return Object.values(node.slots).map((s) => (node.lost ? { ...s, draining: false } : s));
}
