import { expect, test } from 'vitest';
import { placeOfMLflow } from '../src/lib/mlflow';

test('links of MLflow lead to our pages', () => {
  expect(placeOfMLflow('#/experiments/1/runs/23')).toBe('/trials/23');
  expect(placeOfMLflow('#/experiments/1/runs/23/artifacts/model')).toBe('/trials/23');
  expect(placeOfMLflow('#/experiments/4?searchFilter=x')).toBe('/projects/4');
  expect(placeOfMLflow('#/models/birds/versions/2')).toBe('/models/birds');
  expect(placeOfMLflow('')).toBe('/experiments');
  expect(placeOfMLflow('#/experiments/1/runs/..%2f')).toBe('/projects/1');
});
