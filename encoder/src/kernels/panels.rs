//! Matrix products: rows times a matrix that is stored as panels.

use pulp::{Arch, Simd, WithSimd};
use std::array::from_fn;

/// Columns of a panel: one vector of the widest instruction set, two or four of the others.
const WIDTH: usize = 16;

/// A matrix of shape (inputs, outputs), cut into panels of 16 columns that each lie in one piece, in the order in which
/// a product reads them. The last panel is filled up with zeros.
#[derive(Debug)]
pub(crate) struct Panels {
    inputs: usize,
    outputs: usize,
    values: Vec<[f32; WIDTH]>,
}

/// Rows that lie `stride` elements apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
}

/// Writable rows that lie `stride` elements apart.
pub(crate) struct RowsMut<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) stride: usize,
}

impl Panels {
    /// Packs the matrix with `at(input, output)` as elements.
    pub(crate) fn pack(inputs: usize, outputs: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        let mut values = vec![[0f32; WIDTH]; outputs.div_ceil(WIDTH) * inputs];
        for (index, line) in values.iter_mut().enumerate() {
            let (panel, input) = (index / inputs, index % inputs);
            let first = panel * WIDTH;
            for (value, output) in line.iter_mut().zip(first..outputs.min(first + WIDTH)) {
                *value = at(input, output);
            }
        }
        Self { inputs, outputs, values }
    }

    /// Writes the products of `count` rows of `inputs` elements to rows of `outputs` elements. Each element is one
    /// chain of fused multiply-adds along the inputs, so it does not depend on the other rows or on the processor.
    pub(crate) fn product(&self, count: usize, rows: Rows<'_>, products: RowsMut<'_>) {
        if count > 0 {
            Arch::new().dispatch(Product { panels: self, count, rows, products });
        }
    }
}

struct Product<'a> {
    panels: &'a Panels,
    count: usize,
    rows: Rows<'a>,
    products: RowsMut<'a>,
}

impl WithSimd for Product<'_> {
    type Output = ();

    /// Chooses a block of rows such that its sums (rows times vectors of a panel) fit the registers, with room for one
    /// line of the panel and an element of a row.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.balanced::<S, 1>(simd, 12),
            8 => self.balanced::<S, 2>(simd, 6),
            4 => self.balanced::<S, 4>(simd, 3),
            _ => self.balanced::<S, WIDTH>(simd, 1),
        }
    }
}

impl Product<'_> {
    /// Cuts the rows into blocks of equal height, which leaves fewer rows idle than full blocks and a small rest.
    #[inline(always)]
    fn balanced<S: Simd, const VECTORS: usize>(self, simd: S, height_max: usize) {
        match self.count.div_ceil(self.count.div_ceil(height_max)) {
            1 => self.blocks::<S, VECTORS, 1>(simd),
            2 => self.blocks::<S, VECTORS, 2>(simd),
            3 => self.blocks::<S, VECTORS, 3>(simd),
            4 => self.blocks::<S, VECTORS, 4>(simd),
            5 => self.blocks::<S, VECTORS, 5>(simd),
            6 => self.blocks::<S, VECTORS, 6>(simd),
            7 => self.blocks::<S, VECTORS, 7>(simd),
            8 => self.blocks::<S, VECTORS, 8>(simd),
            9 => self.blocks::<S, VECTORS, 9>(simd),
            10 => self.blocks::<S, VECTORS, 10>(simd),
            11 => self.blocks::<S, VECTORS, 11>(simd),
            _ => self.blocks::<S, VECTORS, 12>(simd),
        }
    }

    /// All panels times all blocks: a panel stays in the nearest cache while the rows, which are fewer, pass by.
    #[inline(always)]
    fn blocks<S: Simd, const VECTORS: usize, const HEIGHT: usize>(self, simd: S) {
        let Self { panels, count, rows, products } = self;
        let (inputs, outputs) = (panels.inputs, panels.outputs);
        let blocks = interleave::<HEIGHT>(count, inputs, rows);
        for (index, panel) in panels.values.chunks_exact(inputs).enumerate() {
            let first = index * WIDTH;
            let columns = WIDTH.min(outputs - first);
            for (start, block) in (0..count).step_by(HEIGHT).zip(blocks.chunks_exact(inputs)) {
                let sums = tile::<S, VECTORS, HEIGHT>(simd, block, panel);
                for (row, sums) in (start..count).zip(&sums) {
                    let at = row * products.stride + first;
                    products.values[at..at + columns].copy_from_slice(&sums[..columns]);
                }
            }
        }
    }
}

/// Blocks of rows with the first elements of each row together, then the second, and so on. Missing rows are zero.
#[inline(always)]
fn interleave<const HEIGHT: usize>(count: usize, inputs: usize, rows: Rows<'_>) -> Vec<[f32; HEIGHT]> {
    let mut blocks = vec![[0f32; HEIGHT]; count.div_ceil(HEIGHT) * inputs];
    for (row, values) in rows.values.chunks(rows.stride).take(count).enumerate() {
        let block = &mut blocks[row / HEIGHT * inputs..][..inputs];
        for (line, value) in block.iter_mut().zip(values) {
            line[row % HEIGHT] = *value;
        }
    }
    blocks
}

/// The products of one block of rows and one panel.
#[inline(always)]
fn tile<S: Simd, const VECTORS: usize, const HEIGHT: usize>(
    simd: S,
    block: &[[f32; HEIGHT]],
    panel: &[[f32; WIDTH]],
) -> [[f32; WIDTH]; HEIGHT] {
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; HEIGHT];
    for (elements, line) in block.iter().zip(panel) {
        let (line, _) = S::as_simd_f32s(line);
        // New arrays instead of additions in place: only then the compiler keeps the sums in registers.
        let line: [S::f32s; VECTORS] = from_fn(|index| line[index]);
        sums = from_fn(|row| {
            let element = simd.splat_f32s(elements[row]);
            from_fn(|index| simd.mul_add_f32s(element, line[index], sums[row][index]))
        });
    }
    from_fn(|row| {
        let mut products = [0f32; WIDTH];
        for (vector, sum) in S::as_mut_simd_f32s(&mut products).0.iter_mut().zip(sums[row]) {
            *vector = sum;
        }
        products
    })
}

#[cfg(test)]
mod tests {
    use super::{Panels, Product, Rows, RowsMut};
    use proptest::prelude::*;
    use pulp::{Arch, Simd, WithSimd};

    /// Numbers that look random and depend on nothing else.
    fn element(row: usize, column: usize) -> f32 {
        ((row * 31 + column * 17) % 101) as f32 / 50.0 - 1.0
    }

    proptest! {
        #[test]
        fn product_equals_chains_of_fused_multiply_adds_bit_for_bit_with_every_instruction_set(
            count in 1usize..40,
            inputs in 1usize..50,
            outputs in 1usize..70,
            gap in 0usize..5,
        ) {
            let panels = Panels::pack(inputs, outputs, element);
            let values: Vec<f32> = (0..count * (inputs + gap)).map(|i| element(i, 3)).collect();
            let multiply = |run: fn(Product<'_>)| {
                let mut products = vec![7f32; count * (outputs + gap)];
                run(Product {
                    panels: &panels,
                    count,
                    rows: Rows { values: &values, stride: inputs + gap },
                    products: RowsMut { values: &mut products, stride: outputs + gap },
                });
                products
            };
            for products in [
                multiply(|product| Arch::new().dispatch(product)),
                multiply(|product| product.with_simd(pulp::Scalar)),
                #[cfg(target_arch = "x86_64")]
                multiply(|product| match pulp::x86::V3::try_new() {
                    Some(avx2) => Simd::vectorize(avx2, product),
                    None => product.with_simd(pulp::Scalar),
                }),
            ] {
                for (row, products) in products.chunks_exact(outputs + gap).enumerate() {
                    for (output, product) in products[..outputs].iter().enumerate() {
                        let chain = (0..inputs).fold(0f32, |sum, input| {
                            values[row * (inputs + gap) + input].mul_add(element(input, output), sum)
                        });
                        prop_assert_eq!(product.to_bits(), chain.to_bits());
                    }
                    prop_assert!(products[outputs..].iter().all(|untouched| *untouched == 7.0));
                }
            }
        }
    }

    #[test]
    fn product_of_no_rows_is_nothing() {
        let (rows, products) = (Rows { values: &[], stride: 3 }, RowsMut { values: &mut [], stride: 5 });
        Panels::pack(3, 5, element).product(0, rows, products);
    }
}
