"""Denoising of real photographs: PSNR against parameters on PolyU's pairs."""
