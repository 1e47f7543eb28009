// The forests grow beside the page, which stays responsive.
import { importance, type Problem } from './forest';

const here = self as unknown as { onmessage: (e: MessageEvent<Problem & { turn: number }>) => void; postMessage: (m: unknown) => void };
here.onmessage = (e) => here.postMessage({ turn: e.data.turn, result: importance(e.data) });
